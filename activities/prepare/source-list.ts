import type { Spec } from '../../domain/spec.ts'
import type { SourceFile } from '../../formats/places/source-file.ts'

/** A file with its number among all files of the run, which is its group in the shuffle. */
export interface NumberedFile extends SourceFile {
  readonly number: number
  /** Index of its source in the spec. */
  readonly source: number
}

/** All files of all sources in reading order: as the spec names them, and by name below a folder. */
export async function listSourceFiles(
  spec: Spec,
  filesOf: (uri: string) => Promise<SourceFile[]>,
): Promise<NumberedFile[]> {
  const files: NumberedFile[] = []
  for (const [source, { uri }] of spec.sources.entries()) {
    for (const one of typeof uri === 'string' ? [uri] : uri) {
      for (const file of await filesOf(one)) files.push({ ...file, number: files.length, source })
    }
  }
  return files
}

import type { Column } from '../../../domain/columns.ts'

/** Kinds of features that say no more than the column's type does. */
const plainKinds = new Set(['Value', 'List', 'LargeList', 'Sequence'])

/** Columns with what `datasets` stored of them beyond their types, such as the names of classes. */
export function withFeatures(columns: readonly Column[], metadata: ReadonlyMap<string, string>): Column[] {
  const features = storedFeatures(metadata.get('huggingface'))
  return columns.map((column) => {
    const feature = features[column.name]
    const isSpecial = typeof feature?._type === 'string' && !plainKinds.has(feature._type)
    return isSpecial ? { ...column, feature } : column
  })
}

function storedFeatures(text: string | undefined): Record<string, Record<string, unknown>> {
  if (text === undefined) return {}
  try {
    const stored = JSON.parse(text) as { info?: { features?: Record<string, Record<string, unknown>> } }
    return stored.info?.features ?? {}
  } catch {
    // Somebody else's metadata under the same name.
    return {}
  }
}

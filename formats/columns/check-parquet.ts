import { type FileMetaData, parquetSchema, type SchemaTree } from 'hyparquet'
import { BadFile } from '../bad-file.ts'

/**
 * Refuses footers that contradict themselves. Each row group must have exactly the columns of the schema, within the file:
 * of others the library would start to read and never wait for the end.
 */
export function checkParquet(metadata: FileMetaData, fileBytes: number): void {
  const schema = parquetSchema(metadata)
  const paths = leafPaths(schema)
  if (new Set(paths).size !== paths.length) throw new BadFile('corrupt', 'its schema names a column twice')
  metadata.row_groups.forEach(({ columns, num_rows, total_byte_size }, n) => {
    const found = columns.map(({ meta_data }) => meta_data?.path_in_schema.join('\0'))
    if (found.join('\n') !== paths.join('\n')) {
      throw new BadFile('corrupt', `its row group ${n} has other columns than its schema`)
    }
    const isCounted = Number(num_rows) >= 0 && Number(total_byte_size) >= 0
    if (!isCounted) throw new BadFile('corrupt', `its row group ${n} has no size`)
    for (const { meta_data } of columns) {
      const start = Number(meta_data?.dictionary_page_offset ?? meta_data?.data_page_offset)
      const end = start + Number(meta_data?.total_compressed_size)
      const isInside = start >= 0 && end >= start && end <= fileBytes
      if (!isInside) throw new BadFile('corrupt', `its row group ${n} lies at bytes ${start} to ${end} of ${fileBytes}`)
    }
  })
}

function leafPaths({ children, path }: SchemaTree): string[] {
  return children.length === 0 ? [path.join('\0')] : children.flatMap(leafPaths)
}

import { type FileHandle, open } from 'node:fs/promises'
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync } from 'hyparquet'
import { BadFile, blamingFile } from '../bad-file.ts'
import { checkParquet } from './check-parquet.ts'

export interface ParquetFile {
  readonly buffer: AsyncBuffer
  readonly metadata: FileMetaData
  close(): Promise<void>
}

/** Opens a local Parquet file and reads its footer. */
export async function openParquet(path: string): Promise<ParquetFile> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const buffer: AsyncBuffer = { byteLength: size, slice: (start, end = size) => readSlice(file, start, end) }
    const metadata = await blamingFile(async () => {
      const footer = await parquetMetadataAsync(buffer)
      checkParquet(footer, size)
      return footer
    }, 'its footer can not be read: ')
    return { buffer, metadata, close: () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function readSlice(file: FileHandle, start: number, end: number): Promise<ArrayBuffer> {
  const isInside = start >= 0 && end >= start
  if (!isInside) throw new BadFile('corrupt', `it refers to bytes ${start} to ${end} of itself`)
  const bytes = new Uint8Array(end - start)
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, start + done)
    if (bytesRead === 0) throw new BadFile('truncated', `it refers to bytes up to ${end}, which it does not have`)
    done += bytesRead
  }
  return bytes.buffer
}

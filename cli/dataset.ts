import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { adopt } from '../activities/merge/adopt/adopt.ts'
import { restore } from '../activities/merge/backup/restore.ts'
import { readPointer } from '../activities/merge/versions/pointer.ts'
import { type ReadVersion, readManifest, readVersion } from '../activities/merge/versions/read-version.ts'
import { rollBack } from '../activities/merge/versions/roll-back.ts'
import { type DatasetManifest, datasetKeys, versionName } from '../domain/dataset.ts'
import { describeDiff, diffVersions } from '../domain/dataset-diff.ts'
import { describeHistory, describeVersion } from '../domain/dataset-text.ts'
import { createOpenStore, type StoreOpener } from '../store/open-store.ts'
import type { ObjectStore } from '../store/store.ts'
import { readEnvironment } from '../workers/environment.ts'
import { AnswerIsNo } from './exit.ts'

export function datasetCommand() {
  return new Command('dataset')
    .description('Look at the versions of a training dataset, and move between them.')
    .addCommand(showCommand())
    .addCommand(historyCommand())
    .addCommand(diffCommand())
    .addCommand(adoptCommand())
    .addCommand(rollbackCommand())
    .addCommand(restoreCommand())
}

const datasetArgument = ['<dataset>', 'URI or folder of the dataset', asUri] as const

function showCommand() {
  return new Command('show')
    .description('Show a version: files, rows, sources, runs, columns.')
    .argument(...datasetArgument)
    .option('--version <n>', 'left out: the current one', asVersion)
    .option('--json', "print the version's manifest")
    .addHelpText('after', '\nExample:\n  longhaul dataset show s3://bucket/train')
    .action(async (uri, { version, json }) => {
      await withStores(async (openStore) => {
        const dataset = openStore(uri)
        const current = (await pointerOf(dataset)).version
        const { manifest } = await versionOf(dataset, version ?? current)
        print(json ? manifest : describeVersion(uri, manifest, manifest.version === current))
      })
    })
}

function historyCommand() {
  return new Command('history')
    .description('List which versions were current, since when and why.')
    .argument(...datasetArgument)
    .option('--json', 'print the moves of the pointer')
    .addHelpText('after', '\nExample:\n  longhaul dataset history /data/train')
    .action(async (uri, { json }) => {
      await withStores(async (openStore) => {
        const dataset = openStore(uri)
        const pointer = await pointerOf(dataset)
        const manifests = new Map<number, DatasetManifest>()
        for (const version of new Set(pointer.moves.map(({ to }) => to))) {
          const read = await readManifest(dataset, datasetKeys.manifest(version))
          if (read) manifests.set(version, read.manifest)
        }
        print(json ? pointer.moves : describeHistory(pointer, manifests))
      })
    })
}

function diffCommand() {
  return new Command('diff')
    .description('Show what differs between two versions: rows by source, runs, columns.')
    .argument(...datasetArgument)
    .argument('<from>', 'version', asVersion)
    .argument('<to>', 'version', asVersion)
    .option('--json', 'print the difference as JSON')
    .addHelpText('after', '\nExample:\n  longhaul dataset diff /data/train 6 7')
    .action(async (uri, from, to, { json }) => {
      await withStores(async (openStore) => {
        const dataset = openStore(uri)
        const [before, after] = [await versionOf(dataset, from), await versionOf(dataset, to)]
        const diff = diffVersions(before.manifest, after.manifest)
        print(json ? diff : describeDiff(diff))
      })
    })
}

function adoptCommand() {
  return new Command('adopt')
    .description('Make version 1 of files that are there: JSON lines, Parquet or Arrow. They are read, not touched.')
    .argument(...datasetArgument)
    .option('--from <uri>', 'where the files lie; left out: in the dataset itself', asUri)
    .addHelpText('after', '\nExample:\n  longhaul dataset adopt s3://bucket/train --from s3://bucket/old/train')
    .action(async (uri, { from }) => {
      await withStores(async (openStore) => {
        const dataset = openStore(uri)
        const known = await readPointer(dataset)
        if (known)
          throw new AnswerIsNo(`${uri} has versions already; current is ${versionName(known.pointer.version)}.`)
        const version = await adopt(dataset, {
          from: openStore(from ?? uri),
          spool: join(tmpdir(), `longhaul-adopt-${process.pid}`),
          now: Date.now,
        })
        if (!version) throw new AnswerIsNo(`${from ?? uri} holds no files of data.`)
        print(describeVersion(uri, version.manifest, true))
      })
    })
}

function rollbackCommand() {
  return new Command('rollback')
    .description('Make an earlier version the current one again. Nothing is removed.')
    .argument(...datasetArgument)
    .option('--to <n>', 'version; left out: the one that was current before', asVersion)
    .addHelpText('after', '\nExample:\n  longhaul dataset rollback /data/train')
    .action(async (uri, { to }) => {
      await withStores(async (openStore) => {
        const rolled = await rollBack(openStore(uri), { openStore, now: Date.now, ...(to !== undefined && { to }) })
        print(`${uri}: version ${rolled.manifest.version} is current.\n`)
      })
    })
}

function restoreCommand() {
  return new Command('restore')
    .description(
      'Bring a version back from its back-up and make it current. Files that are as they should be are left.',
    )
    .argument(...datasetArgument)
    .requiredOption('--version <n>', 'version to bring back', asVersion)
    .option('--backup <uri>', 'where the back-ups are; left out: <dataset>-backup', asUri)
    .option('--to <uri>', 'another place to bring it to; left out: the dataset itself', asUri)
    .option('--overwrite', 'also overwrite files that Longhaul did not write')
    .addHelpText('after', '\nExample:\n  longhaul dataset restore s3://bucket/train --version 7')
    .action(async (uri, { version, backup, to, overwrite }) => {
      await withStores(async (openStore) => {
        const files: string[] = []
        const { manifest } = await restore({
          ...{ openStore, version, now: Date.now, mayOverwrite: overwrite ?? false },
          target: openStore(to ?? uri),
          backup: openStore(backup ?? `${uri}-backup`),
          onFile: (key, wasMissing) => files.push(`  ${key} ${wasMissing ? 'was missing' : 'differed'}`),
        })
        const brought = files.length > 0 ? `${files.join('\n')}\n` : ''
        print(`${to ?? uri}: version ${manifest.version} is current, ${files.length} files brought back.\n${brought}`)
      })
    })
}

async function pointerOf(dataset: ObjectStore) {
  const read = await readPointer(dataset)
  if (!read) throw new AnswerIsNo(`${dataset.uri} has no versions. Adopt it, or merge a run into it.`)
  return read.pointer
}

async function versionOf(dataset: ObjectStore, version: number): Promise<ReadVersion> {
  if (await dataset.head(datasetKeys.manifest(version))) return await readVersion(dataset, version)
  throw new AnswerIsNo(`${dataset.uri} has no version ${version}.`)
}

async function withStores(work: (openStore: StoreOpener) => Promise<void>): Promise<void> {
  const openStore = createOpenStore({ s3: readEnvironment(process.env).s3 })
  try {
    await work(openStore)
  } finally {
    await openStore.close()
  }
}

function print(what: object | string): void {
  process.stdout.write(typeof what === 'string' ? what : `${JSON.stringify(what)}\n`)
}

/** Folders are written as people write them. */
function asUri(text: string): string {
  const uri = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : pathToFileURL(resolve(text)).href
  return uri.replace(/\/+$/, '')
}

function asVersion(text: string): number {
  const [, digits] = /^v?0*(\d+)$/.exec(text) ?? []
  if (digits === undefined) throw new InvalidArgumentError('A version is a number, such as 7 or v0007.')
  return Number(digits)
}

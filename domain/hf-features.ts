import type { Column, ColumnType } from './columns.ts'

/** A feature as the `datasets` library of Hugging Face writes it in JSON. */
export type HfFeature = { dtype: string; _type: 'Value' } | HfFeature[] | { [name: string]: HfFeature } | object

/** The features of columns: what Arrow, Parquet and `dataset_info.json` carry, so that types survive loading. */
export function hfFeatures(columns: readonly Column[]): { [name: string]: HfFeature } {
  return Object.fromEntries(columns.map(({ name, type, feature }) => [name, feature ?? featureOf(type)]))
}

function featureOf(type: ColumnType): HfFeature {
  switch (type.kind) {
    // A list in brackets is understood by old and new releases alike, `Sequence` and `List` by one kind each.
    case 'list':
      return [featureOf(type.item)]
    case 'struct':
      return hfFeatures(type.fields)
    case 'map':
      return [{ key: featureOf(type.key), value: featureOf(type.value) }]
    default:
      return { dtype: hfDtype(type), _type: 'Value' }
  }
}

/** Name of a simple type. */
function hfDtype(type: ColumnType): string {
  switch (type.kind) {
    case 'int':
      return `${type.isUnsigned ? 'u' : ''}int${type.bits}`
    case 'float':
      return `float${type.bits}`
    case 'string':
      return type.isLarge ? 'large_string' : 'string'
    case 'json':
      return 'string'
    case 'date':
      return 'date32'
    case 'time':
      return `time${type.unit === 's' || type.unit === 'ms' ? 32 : 64}[${type.unit}]`
    case 'timestamp':
      return `timestamp[${type.unit}${type.zone === undefined ? '' : `, tz=${type.zone}`}]`
    case 'decimal':
      return `decimal128(${type.precision}, ${type.scale})`
    default:
      return type.kind
  }
}

/** The features as the front matter of a card has them: YAML, indented by `indent` spaces. */
export function hfFeaturesYaml(columns: readonly Column[], indent: number): string {
  return columns.map((column) => yamlOf(column, ' '.repeat(indent))).join('')
}

function yamlOf({ name, type, feature }: Column, pad: string): string {
  const head = `${pad}- name: ${yamlText(name)}\n`
  const inner = `${pad}  `
  const classes = feature?._type === 'ClassLabel' && Array.isArray(feature.names) ? feature.names : undefined
  if (classes) {
    const names = classes.map((label, n) => `${inner}      '${n}': ${yamlText(String(label))}\n`)
    return `${head}${inner}dtype:\n${inner}  class_label:\n${inner}    names:\n${names.join('')}`
  }
  switch (type.kind) {
    case 'list':
      return head + yamlList(type.item, inner)
    case 'struct':
      return `${head}${inner}struct:\n${hfFeaturesYaml(type.fields, inner.length)}`
    case 'map':
      return `${head}${inner}list:\n${hfFeaturesYaml(pairOf(type), inner.length)}`
    default:
      return `${head}${inner}dtype: ${yamlText(hfDtype(type))}\n`
  }
}

function yamlList(item: ColumnType, pad: string): string {
  if (item.kind === 'struct') return `${pad}list:\n${hfFeaturesYaml(item.fields, pad.length)}`
  if (item.kind === 'map') return `${pad}list:\n${pad}  list:\n${hfFeaturesYaml(pairOf(item), pad.length + 2)}`
  if (item.kind === 'list') return `${pad}list:\n${yamlList(item.item, `${pad}  `)}`
  return `${pad}list: ${yamlText(hfDtype(item))}\n`
}

function pairOf({ key, value }: Extract<ColumnType, { kind: 'map' }>): Column[] {
  return [
    { name: 'key', type: key },
    { name: 'value', type: value },
  ]
}

/** Quoted where YAML would read something else into it. */
export function yamlText(text: string): string {
  const isPlain =
    /^[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$/.test(text) || /^timestamp\[[\w, =/+:-]+\]$/.test(text)
  const isWord = /^(true|false|yes|no|on|off|null|y|n)$/i.test(text)
  return isPlain && !isWord ? text : JSON.stringify(text)
}

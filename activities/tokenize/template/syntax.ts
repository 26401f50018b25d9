import { parse, tokenize } from '@huggingface/jinja'

/** The nodes that the parser makes; its package does not export their types. */
export type Node =
  | { type: 'If'; test: Node; body: Node[]; alternate: Node[] }
  | { type: 'For'; loopvar: Node; iterable: Node; body: Node[]; defaultBlock: Node[] }
  | { type: 'Break' }
  | { type: 'Continue' }
  | { type: 'Comment' }
  | { type: 'Set'; assignee: Node; value: Node | null; body: Node[] }
  | { type: 'Macro'; name: Identifier; args: Parameter[]; body: Node[] }
  | { type: 'CallStatement'; call: Node; callerArgs: Parameter[] | null; body: Node[] }
  | { type: 'FilterStatement'; filter: Node; body: Node[] }
  | { type: 'MemberExpression'; object: Node; property: Node; computed: boolean }
  | CallNode
  | Identifier
  | { type: 'IntegerLiteral'; value: number }
  | { type: 'FloatLiteral'; value: number }
  | { type: 'StringLiteral'; value: string }
  | { type: 'ArrayLiteral'; value: Node[] }
  | { type: 'TupleLiteral'; value: Node[] }
  | { type: 'ObjectLiteral'; value: Map<Node, Node> }
  | { type: 'BinaryExpression'; operator: { value: string }; left: Node; right: Node }
  | { type: 'UnaryExpression'; operator: { value: string }; argument: Node }
  | { type: 'FilterExpression'; operand: Node; filter: Node }
  | { type: 'TestExpression'; operand: Node; negate: boolean; test: Identifier }
  | { type: 'SelectExpression'; lhs: Node; test: Node }
  | { type: 'Ternary'; condition: Node; trueExpr: Node; falseExpr: Node }
  | { type: 'SliceExpression'; start?: Node; stop?: Node; step?: Node }
  | KeywordArgument
  | { type: 'SpreadExpression'; argument: Node }
  | { type: 'KeywordSpreadExpression'; argument: Node }

export interface Identifier {
  type: 'Identifier'
  value: string
}

export interface CallNode {
  type: 'CallExpression'
  callee: Node
  args: Node[]
}

export interface KeywordArgument {
  type: 'KeywordArgumentExpression'
  key: Identifier
  value: Node
}

export type Parameter = Identifier | KeywordArgument

/** The chat template is written in a way that can't be read. */
export class TemplateNotReadable extends Error {
  override readonly name = 'TemplateNotReadable'
}

/** Parses a template with the white-space rules that transformers sets. Throws `TemplateNotReadable`. */
export function parseTemplate(source: string): Node[] {
  try {
    const tokens = tokenize(source, { trim_blocks: true, lstrip_blocks: true })
    return parse(tokens).body as unknown as Node[]
  } catch (error) {
    throw new TemplateNotReadable(`The chat template can't be read: ${(error as Error).message}`, { cause: error })
  }
}

// What is read of a published catalog document, to show it: never to decide by it.

interface Told {
  [member: string]: unknown
}

export interface Document {
  leaves?: Told[]
  groups?: Told[]
  scopeTypes?: Told[]
  constraints?: { sod?: Told[] }
  [member: string]: unknown
}

export type Kind = 'leaf' | 'type' | 'group' | 'constraint'

/** One thing that two documents have differently: before or after is null where one lacks it. */
export interface Difference {
  kind: Kind
  id: string
  sign: '+' | '−' | '→'
  members: Array<{ name: string; before: string | null; after: string | null }>
}

const parts: Array<{ kind: Kind; id: string; of: (d: Document) => Told[] }> = [
  { kind: 'leaf', id: 'key', of: d => d.leaves ?? [] },
  { kind: 'type', id: 'type', of: d => d.scopeTypes ?? [] },
  { kind: 'group', id: 'path', of: d => d.groups ?? [] },
  { kind: 'constraint', id: 'id', of: d => d.constraints?.sod ?? [] },
]
const compared = new Set(['leaves', 'groups', 'scopeTypes', 'constraints'])

// What follows from the keys of a document, and where a thing comes from.
const derived = new Set(['permissions', 'groups', 'origin'])

// A member that is left out says as much as an empty one, or one that is false.
function told(value: unknown): string | null {
  if (value === undefined || value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0)) return null
  if (Array.isArray(value) && value.length > 0 && value.every(v => typeof v === 'string')) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value, ordered)
}

/** JSON with members in order, so that equal values are equal texts. */
function ordered(_: string, v: unknown) {
  return v && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v
}

/** What the later of two documents has otherwise: in order of kind and id, and other members by their names. */
export function differences(before: Document, after: Document): { list: Difference[]; others: string[] } {
  const list: Difference[] = []
  for (const { kind, id, of } of parts) {
    const was = new Map(of(before).map(v => [String(v[id]), v]))
    const is = new Map(of(after).map(v => [String(v[id]), v]))
    for (const name of [...new Set([...was.keys(), ...is.keys()])].sort()) {
      const [a, b] = [was.get(name), is.get(name)]
      const members = [...new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})])]
        .filter(m => m !== id && !derived.has(m))
        .map(m => ({ name: m, before: told(a?.[m]), after: told(b?.[m]) }))
        .filter(m => m.before !== m.after)
      if (!a || !b || members.length > 0) list.push({ kind, id: name, sign: !a ? '+' : !b ? '−' : '→', members: a && b ? members : [] })
    }
  }
  const others = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(m => !compared.has(m) && told(before[m]) !== told(after[m]))
  return { list, others }
}

export interface Entry {
  key: string
  name: string
  description: string
  destructive: boolean
  implied: boolean
  condition: boolean
  scopes: string[]
}

export interface Branch {
  path: string
  label: string
  description: string
  entries: Entry[]
  below: Branch[]
  /** Of all keys in it. */
  count: number
}

const text = (v: unknown) => (typeof v === 'string' ? v : '')

/** The keys of documents as the tree that their groups are; a key of several documents stands once. */
export function tree(documents: Document[]): Branch[] {
  const branches = new Map<string, Branch>()
  const roots: Branch[] = []
  const branch = (path: string): Branch => {
    const found = branches.get(path)
    if (found) return found
    const made: Branch = { path, label: '', description: '', entries: [], below: [], count: 0 }
    branches.set(path, made)
    const dot = path.lastIndexOf('.')
    if (dot < 0) roots.push(made)
    else branch(path.slice(0, dot)).below.push(made)
    return made
  }
  const keys = new Set<string>()
  for (const d of documents) {
    for (const g of d.groups ?? []) {
      const of = branch(text(g.path))
      of.label ||= text(g.label)
      of.description ||= text(g.description)
    }
    for (const l of d.leaves ?? []) {
      const key = text(l.key)
      if (!key || keys.has(key)) continue
      keys.add(key)
      branch(key.slice(0, key.lastIndexOf('.'))).entries.push({
        key, name: text(l.name), description: text(l.description) || text(l.label), destructive: l.destructive === true, implied: l.impliedOnAncestors === true, condition: l.requiresCondition === true, scopes: (l.scopes as string[] | undefined) ?? [],
      })
    }
  }
  const settle = (b: Branch): number => {
    b.below.sort((x, y) => (x.path < y.path ? -1 : 1))
    b.entries.sort((x, y) => (x.key < y.key ? -1 : 1))
    return (b.count = b.entries.length + b.below.reduce((sum, c) => sum + settle(c), 0))
  }
  for (const r of roots) settle(r)
  return roots.filter(r => r.count > 0).sort((x, y) => (x.path < y.path ? -1 : 1))
}

/** The keys in a branch and below it. */
export const entriesOf = (b: Branch): Entry[] => [...b.entries, ...b.below.flatMap(entriesOf)]

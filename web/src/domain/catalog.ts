import type { Catalogs, Requestable, Role2 } from '../api/schema.gen.ts'
import { namespaceOf } from './scopes.ts'

export interface Leaf {
  key: string
  description: string
  destructive: boolean
  scopes: string[]
  requiresCondition: boolean
}

export interface Vocabulary {
  leaves: Leaf[]
  byKey: Map<string, Leaf>
  /** The application that has each namespace. */
  owners: Map<string, string>
  /** What may be asked for: roles, and keys at scopes of these types. */
  roles: Role2[]
  types: AskedType[]
}

export interface AskedType {
  type: string
  patterns: string[]
  policy: Requestable
}

// As a catalog has it: its stages stand below a policy.
interface Typed {
  type: string
  requestable: Omit<Requestable, 'stages'> & { patterns?: string[]; policy?: { stages?: Requestable['stages'] } | null }
}

/** The keys of all catalogs, each once, in order. */
export function vocabulary(catalogs: Catalogs): Vocabulary {
  const byKey = new Map<string, Leaf>()
  const owners = new Map<string, string>()
  for (const of of catalogs.namespaces) {
    if (of.application) owners.set(of.namespace, of.application)
    const leaves = (of.document as { leaves?: Array<Partial<Leaf>> } | null)?.leaves ?? []
    for (const leaf of leaves) {
      if (!leaf.key) continue
      byKey.set(leaf.key, {
        key: leaf.key,
        description: leaf.description ?? '',
        destructive: leaf.destructive ?? false,
        scopes: leaf.scopes ?? [],
        requiresCondition: leaf.requiresCondition ?? false,
      })
    }
  }
  const leaves = [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  const types = (catalogs.requestable.scopeTypes as Typed[]).map(({ type, requestable: { patterns, policy, ...rest } }) => ({ type, patterns: patterns ?? [], policy: { ...rest, stages: policy?.stages ?? [] } }))
  return { leaves, byKey, owners, roles: catalogs.requestable.roles, types }
}

/** The keys that a pattern names today: what a reader is told, never what is decided. */
export function named(words: Vocabulary, pattern: string): Leaf[] {
  if (pattern === '*') return words.leaves
  if (pattern.endsWith('.*')) return words.leaves.filter(l => l.key.startsWith(pattern.slice(0, -1)))
  const leaf = words.byKey.get(pattern)
  return leaf ? [leaf] : []
}

/** Keys by the groups that their names spell. */
export interface KeyGroup {
  path: string
  groups: KeyGroup[]
  leaves: Leaf[]
  count: number
}

export function keyTree(leaves: Leaf[]): KeyGroup[] {
  const root: KeyGroup = { path: '', groups: [], leaves: [], count: 0 }
  const known = new Map([['', root]])
  const group = (path: string): KeyGroup => {
    const found = known.get(path)
    if (found) return found
    const made: KeyGroup = { path, groups: [], leaves: [], count: 0 }
    known.set(path, made)
    group(path.slice(0, Math.max(0, path.lastIndexOf('.')))).groups.push(made)
    return made
  }
  for (const leaf of leaves) {
    const path = leaf.key.slice(0, Math.max(0, leaf.key.lastIndexOf('.')))
    group(path).leaves.push(leaf)
    for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
      group(at).count++
      if (!at) break
    }
  }
  return root.groups
}

/** The pattern of a list that names a key, other than by its own name. */
export function wildcardOver(patterns: string[], key: string): string | undefined {
  return patterns.find(p => p === '*' || (p.endsWith('.*') && key.startsWith(p.slice(0, -1))))
}

/** The keys that patterns name today, each once, in order. */
export function namedBy(words: Vocabulary, patterns: string[]): Leaf[] {
  const keys = new Set(patterns.flatMap(p => named(words, p).map(l => l.key)))
  return words.leaves.filter(l => keys.has(l.key))
}

/** The application that keeps the rows at a scope: of its own types; of those everywhere the org's home, which needs no name. */
export const homeOf = (words: Vocabulary | undefined, scope: string) => words?.owners.get(namespaceOf(scope))

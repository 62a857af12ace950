import type { Catalogs, Requestable, Role2 } from '../api/schema.gen.ts'

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

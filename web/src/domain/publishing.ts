/** A key as a catalog document declares it. */
export interface Declared {
  key: string
  description: string
  scopes: string[]
  destructive: boolean
  requiresCondition: boolean
  impliedOnAncestors: boolean
  kind: string
}

interface Document {
  leaves?: Array<Partial<Declared>>
}

/** How one document differs from another, key by key. */
export interface Difference {
  added: Declared[]
  gone: Declared[]
  /** Keys that both have, with the members that differ. */
  changed: Array<{ key: string; members: string[] }>
  /** Something beside keys differs, such as a scope type. */
  rest: boolean
}

/** The keys of a document, in order; those of the service itself are in every one and belong to none. */
export function declared(document: unknown): Declared[] {
  const leaves = (document as Document | null)?.leaves ?? []
  return leaves
    .filter(l => l.key && !l.key.startsWith('authz_internal.'))
    .map(l => ({ key: l.key!, description: l.description ?? '', scopes: l.scopes ?? [], destructive: l.destructive ?? false, requiresCondition: l.requiresCondition ?? false, impliedOnAncestors: l.impliedOnAncestors ?? false, kind: l.kind ?? '' }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** JSON with members in order, so that equal documents are equal texts. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) => (v && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v)) ?? ''
}

export function difference(before: unknown, after: unknown): Difference {
  const old = new Map(declared(before).map(l => [l.key, l]))
  const now = new Map(declared(after).map(l => [l.key, l]))
  const changed = [...now.values()].flatMap(l => {
    const was = old.get(l.key)
    if (!was) return []
    const members = (Object.keys(l) as Array<keyof Declared>).filter(m => plain(l[m]) !== plain(was[m]))
    return members.length ? [{ key: l.key, members }] : []
  })
  const without = (document: unknown) => plain({ ...(document as object | null), leaves: [], groups: [] })
  return { added: [...now.values()].filter(l => !old.has(l.key)), gone: [...old.values()].filter(l => !now.has(l.key)), changed, rest: !!before && without(before) !== without(after) }
}

export const count = (d: Difference) => d.added.length + d.gone.length + d.changed.length

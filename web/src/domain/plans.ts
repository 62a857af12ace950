import type { Effect, Grant, Group, Home, HomedGrant, Impact, Supposed } from '../api/schema.gen.ts'

/** What answers of checks a change would change, as those who decide told it. */
export interface Effects {
  gained: Effect[]
  lost: Effect[]
  /** There may be more than is told. */
  more: boolean
  /** Subjects whose people cannot be listed. */
  unknown: string[]
  /** Scopes of which nothing is recorded above. */
  unresolved: string[]
  /** Who could not tell, "" the organization itself. */
  untold: string[]
  /** Applications that were not asked, because there are many. */
  unasked: number
  /** The key that the reader lacks to be told, "" where they were told. */
  hidden: string
}

const key = (c: Effect) => `${c.subject} ${c.key} ${c.scope}`

/** The answers of several applications as one: what two of them tell alike is told once. */
export function together(impacts: Impact[], untold: string[], unasked: number): Omit<Effects, 'hidden'> {
  const of = (allowed: boolean) => [...new Map(impacts.flatMap(i => i.changes).filter(c => c.allowed === allowed).map(c => [key(c), c])).values()]
  const all = (list: Array<string[] | undefined>) => [...new Set(list.flatMap(l => l ?? []))]
  return { gained: of(true), lost: of(false), more: impacts.some(i => i.more), unknown: all(impacts.map(i => i.unknown)), unresolved: all(impacts.map(i => i.unresolved)), untold, unasked }
}

/** How many principals some effects are about. */
export const peopleOf = (list: Effect[]) => new Set(list.map(c => c.subject)).size

export interface Change {
  with?: Supposed
  /** Rows that would be gone, with who keeps them. */
  without?: Array<{ id: string; home?: Home }>
}

/** What is left of a group that is deleted: nothing is in it or reached through it. */
export function withoutGroup(id: string, grants: HomedGrant[]): Change {
  return { with: { groups: [{ groupId: id, parents: [] }] }, without: grants }
}

/** What is left of a group that is dissolved: each group in it has its grants and its place. */
export function dissolved(group: Group, children: Group[], grants: HomedGrant[], now: number): Change {
  const lasting = grants.filter(g => !g.expiresAt || g.expiresAt > now)
  const parents = (of: Group) => [...new Set([...of.parents.filter(p => p !== group.id), ...group.parents])]
  return {
    with: {
      groups: [{ groupId: group.id, parents: [] }, ...children.map(c => ({ groupId: c.id, parents: parents(c) }))],
      grants: children.flatMap(c => lasting.map(g => ({ ...supposed(g), subject: 'group:' + c.id }))),
    },
    without: grants,
  }
}

/** A row as one that would be made. */
export function supposed({ subject, roleId, pattern, scope, expiresAt }: Grant) {
  return { subject, scope, ...(roleId ? { roleId } : { pattern: pattern ?? '' }), ...(expiresAt ? { expiresAt } : {}) }
}

/** What one list has more than another. */
export const beyond = (list: string[], other: string[]) => list.filter(x => !other.includes(x))

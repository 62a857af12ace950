import type { Group } from '../api/schema.gen.ts'

export interface Branch {
  group: Group
  depth: number
  /** Unique where a group stands below several parents. */
  at: string
}

/** Groups below their parents, in the order of names. A group with several parents stands below each. */
export function branches(groups: Group[]): Branch[] {
  const known = new Map(groups.map(g => [g.id, g]))
  const below = new Map<string, Group[]>()
  const roots: Group[] = []
  for (const g of groups) {
    const parents = g.parents.filter(p => known.has(p))
    if (parents.length === 0) roots.push(g)
    for (const p of parents) below.set(p, [...(below.get(p) ?? []), g])
  }
  const out: Branch[] = []
  const walk = (list: Group[], depth: number, path: string) => {
    for (const g of [...list].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))) {
      if (path.split(' ').includes(g.id)) continue // a cycle, which no store should hold
      out.push({ group: g, depth, at: `${path} ${g.id}` })
      walk(below.get(g.id) ?? [], depth + 1, `${path} ${g.id}`)
    }
  }
  walk(roots, 0, '')
  return out
}

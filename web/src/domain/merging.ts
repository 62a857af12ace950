import type { Conflict, Resolution } from '../api/schema.gen.ts'

/** What a reader chose for a conflict, whole or not. */
export interface Choice {
  action: string
  newId?: string
  userId?: string
  /** "" is nobody, as a manager may be chosen away. */
  managerUserId?: string
}

/** A choice as the API takes it; null where something is missing. */
export function resolution(of: Conflict, c: Choice | undefined): Resolution | null {
  if (!c?.action) return null
  if (c.action.startsWith('rename_')) return c.newId?.trim() ? { action: c.action, newId: c.newId.trim() } : null
  if (c.action !== 'choose') return { action: c.action }
  if (of.kind === 'reporting_cycle') return c.userId ? { action: 'choose', userId: c.userId, managerUserId: null } : null
  return c.managerUserId === undefined ? null : { action: 'choose', managerUserId: c.managerUserId || null }
}

/** The decisions about conflicts by their ids, and how many are still missing. */
export function resolutions(conflicts: Conflict[], choices: Record<string, Choice>): { made: Record<string, Resolution>; missing: number } {
  const made: Record<string, Resolution> = {}
  for (const c of conflicts) {
    const one = resolution(c, choices[c.id])
    if (one) made[c.id] = one
  }
  return { made, missing: conflicts.length - Object.keys(made).length }
}

// What tells nobody which of two it is.
const left = ['membersHash', 'provenance', 'createdAt']

/** One side of a conflict: what is told of the role, group, grant or request, a line each. */
export function facts(side: unknown): Array<[string, string]> {
  if (typeof side !== 'object' || side === null) return typeof side === 'string' ? [['', side]] : []
  return Object.entries(side).flatMap(([name, v]): Array<[string, string]> => {
    if (v === null || v === '' || left.includes(name) || (Array.isArray(v) && v.length === 0)) return []
    return [[name, Array.isArray(v) && v.every(one => typeof one === 'string') ? v.join(', ') : typeof v === 'object' ? JSON.stringify(v) : String(v)]]
  })
}

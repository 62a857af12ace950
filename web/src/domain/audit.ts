import type { AuditEntry } from '../api/schema.gen.ts'

/** What an entry is about, as far as its detail tells it in a line. */
export interface About {
  subject: string
  roleId?: string
  pattern?: string
  scope?: string
}

const people = /^(user|seat)\./

/** Whom an entry concerns: null where it is no single subject. */
export function aboutOf({ action, target, detail }: Pick<AuditEntry, 'action' | 'target' | 'detail'>): About | null {
  const d = (typeof detail === 'object' && detail !== null ? detail : {}) as Record<string, unknown>
  const text = (member: string) => (typeof d[member] === 'string' && d[member] !== '' ? (d[member] as string) : undefined)
  const user = text('userId') ?? text('requesterUserId') ?? (people.test(action) ? target : undefined)
  const subject = text('subject') ?? (user && 'user:' + user) ?? (action.startsWith('group.') ? 'group:' + target : undefined)
  return subject ? { subject, roleId: text('roleId'), pattern: text('pattern'), scope: text('scope') } : null
}

/** How many rows an entry of a bulk wrote, 0 where its detail was left out; null of any other entry. */
export function rowsOf({ action, detail }: Pick<AuditEntry, 'action' | 'detail'>): number | null {
  if (!action.endsWith('_bulk')) return null
  const count = (detail as { count?: unknown } | null | undefined)?.count
  return typeof count === 'number' ? count : 0
}

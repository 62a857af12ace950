export type SubjectKind = 'user' | 'service' | 'group' | 'org' | 'directs' | 'orgof' | 'everyone' | 'other'

export interface Subject {
  kind: SubjectKind
  id: string
}

const kinds = new Set<string>(['user', 'service', 'group', 'org', 'directs', 'orgof'])

/** What a row's subject names. */
export function parseSubject(subject: string): Subject {
  if (subject === 'everyone') return { kind: 'everyone', id: '' }
  const at = subject.indexOf(':')
  const kind = subject.slice(0, at)
  if (at < 1 || !kinds.has(kind)) return { kind: 'other', id: subject }
  return { kind: kind as SubjectKind, id: subject.slice(at + 1) }
}

/** How a row reaches a person: by themself, a group, an org, their managers, or as anybody. */
export type Way = 'own' | 'group' | 'org' | 'manager' | 'everyone'

export const ways: Way[] = ['own', 'group', 'org', 'manager', 'everyone']

export function wayOf(subject: string): Way {
  switch (parseSubject(subject).kind) {
    case 'group':
      return 'group'
    case 'org':
      return 'org'
    case 'directs':
    case 'orgof':
      return 'manager'
    case 'everyone':
      return 'everyone'
    default:
      return 'own'
  }
}

/** A query that names whom a principal is: ann, user:ann or service:ci. */
export function principal(text: string): { userId: string } | { serviceId: string } | null {
  const { kind, id } = parseSubject(text.trim())
  if (!id) return null
  if (kind === 'service') return { serviceId: id }
  if (kind === 'user' || kind === 'other') return { userId: id }
  return null
}

import type { GrantInput } from '../api/schema.gen.ts'
import { parseSubject } from './subjects.ts'

/** A grant as a line of text says it, or what is wrong with the line. */
export interface Line {
  /** From 1, as an editor counts. */
  at: number
  text: string
  input?: GrantInput
  wrong?: 'subject' | 'what' | 'until' | 'past' | 'more' | 'many'
  /** The line that says the same. */
  sameAs?: number
}

export const most = 1000

const dateOnly = /^\d{4}-\d\d-\d\d$/

/** Reads grants, one a line: subject, role:id or a pattern, scope, end; lines of blanks are none. */
export function readLines(text: string, now: number): Line[] {
  const out: Line[] = []
  const seen = new Map<string, number>()
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim()
    if (!line) continue
    if (out.length === most) {
      out.push({ at: i + 1, text: line, wrong: 'many' })
      break
    }
    const of = read(line, now)
    const said = JSON.stringify(of.input)
    const before = of.input && seen.get(said)
    out.push({ at: i + 1, text: line, ...of, ...(before ? { sameAs: before } : {}) })
    if (of.input && !before) seen.set(said, i + 1)
  }
  return out
}

function read(line: string, now: number): Pick<Line, 'input' | 'wrong'> {
  const [subject = '', what = '', scope = '', until = '', ...rest] = line.includes('\t') ? line.split('\t').map(c => c.trim()) : line.split(/\s+/)
  if (rest.some(c => c)) return { wrong: 'more' }
  const { kind, id } = parseSubject(subject)
  if (kind === 'other' || (kind !== 'everyone' && !id)) return { wrong: 'subject' }
  const role = what.startsWith('role:') ? what.slice('role:'.length) : ''
  if (!what || what === 'role:') return { wrong: 'what' }
  const end = until && until !== 'never' ? new Date(dateOnly.test(until) ? until + 'T00:00' : until).getTime() : 0
  if (Number.isNaN(end)) return { wrong: 'until' }
  if (end && end <= now) return { wrong: 'past' }
  return { input: { subject, ...(role ? { roleId: role } : { pattern: what }), scope: scope && scope !== 'everywhere' ? scope : '*', ...(end ? { expiresAt: end } : {}) } }
}

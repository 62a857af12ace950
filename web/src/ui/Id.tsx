import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import { parseSubject } from '../domain/subjects.ts'
import { visible } from '../domain/visible.ts'
import { t } from '../text/en.ts'

/** Other people's text: nothing in it is hidden, and it turns nothing around it. */
export function Name({ of }: { of: string }) {
  return <span className="id">{visible(of)}</span>
}

/** An id, in the type of ids. */
export function Id({ of }: { of: string }) {
  return <code className="id">{visible(of)}</code>
}

/** A key where no whole one has room: its lines break at its dots. */
export function Key({ of }: { of: string }) {
  return <code className="id">{visible(of).split(/(?<=\.)/).map((part, i) => <Fragment key={i}>{i > 0 && <wbr />}{part}</Fragment>)}</code>
}

export function SubjectName({ of }: { of: string }) {
  const { kind, id } = parseSubject(of)
  if (kind === 'everyone') return <span>{t.subject.everyone}</span>
  if (kind === 'user') return <Name of={id} />
  return (
    <span>
      <span className="dim">{t.subject[kind]}</span> <Name of={id} />
    </span>
  )
}

/** A subject, with a way to its screen where it has one. */
export function SubjectLink({ org, of }: { org: string; of: string }) {
  const { kind, id } = parseSubject(of)
  if (kind === 'user') return <Link to="/orgs/$org/people/$id" params={{ org, id }}><Name of={id} /></Link>
  if (kind === 'service') return <Link to="/orgs/$org/services/$id" params={{ org, id }}><SubjectName of={of} /></Link>
  if (kind === 'group') return <Link to="/orgs/$org/groups/$id" params={{ org, id }}><SubjectName of={of} /></Link>
  return <SubjectName of={of} />
}

export function ScopeName({ of }: { of: string }) {
  return of === '*' ? <span>{t.everywhere}</span> : <Id of={of} />
}

/** What a row or a request is for, as a role or as a key or pattern. */
export function What({ of: r }: { of: { roleId?: string; pattern?: string } }) {
  return r.roleId ? <><span className="dim">{t.explain.role}</span> <Name of={r.roleId} /></> : <Id of={r.pattern ?? ''} />
}

/** Where something counts, within a sentence: everywhere, or at a scope. */
export function At({ of }: { of: string }) {
  return of === '*' ? <span>{t.everywhere}</span> : <>{t.explain.at} <Id of={of} /></>
}

/** A scope, with a way to its screen: what is given there and above. */
export function ScopeLink({ org, of }: { org: string; of: string }) {
  if (of === '*' || of.startsWith('cloud.')) return <ScopeName of={of} />
  return <Link to="/orgs/$org/resources/$scope" params={{ org, scope: of }}><Id of={of} /></Link>
}

const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })

/** An instant in local time; in UTC for who points at it. */
export function Time({ at, date = false }: { at: number; date?: boolean }) {
  const when = new Date(at)
  return <time dateTime={when.toISOString()} title={when.toISOString().replace('T', ' ').replace(/\.\d+Z/, ' UTC')}>{(date ? day : full).format(when)}</time>
}

/** When a row ends, in a list: never, on a day, or already. */
export function Until({ at }: { at: number | null | undefined }) {
  if (!at) return <span className="dim">{t.grants.forever}</span>
  return at <= Date.now() ? <span className="tag mind" title={full.format(at)}>{t.grants.over}</span> : <Time at={at} date />
}

export const number = new Intl.NumberFormat('en-GB')

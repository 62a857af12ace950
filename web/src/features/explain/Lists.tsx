import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { holds } from '../../api/gates.ts'
import { useMe } from '../../api/queries.ts'
import type { Grant } from '../../api/schema.gen.ts'
import type { Question, Steps } from '../../domain/explanation.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, ScopeName, SubjectLink, Time } from '../../ui/Id.tsx'
import { AskFor } from './AskFor.tsx'

/** The ways and what stands in them, as a list: what the picture shows, and all of it. */
export function Ways({ org, question, steps: s }: { org: string; question: Question; steps: Steps }) {
  if (!s.routes.length && !s.revokes.length && !s.expired.length) return null
  return (
    <section className="card">
      <header><h2>{t.explain.ways}</h2></header>
      <ul className="nest">
        {s.revokes.map(r => (
          <li key={r.id}>
            <span className="tag no">{t.explain.revoke}</span> <Id of={r.pattern} /> {t.explain.takenFrom} <SubjectLink org={org} of={question.subject} /> {r.scope === '*' ? t.everywhere : <>{t.explain.at} <ScopeName of={r.scope} /></>}
            <p className="small dim">{t.explain.revokeHint}{r.createdAt > 0 && <> · <Time at={r.createdAt} /></>}{by(r.provenance.actorUserId)}</p>
          </li>
        ))}
        {s.routes.map(r => (
          <li key={r.grant.id}>
            <span className={s.reason === 'granted' || s.reason === 'implied' ? 'tag yes' : 'tag'}>{s.reason === 'implied' ? t.explain.implied : t.explain.grant}</span>
            <ol>
              <li><SubjectLink org={org} of={question.subject} /></li>
              {r.through.map((g, i) => <li key={g}>{i === 0 ? t.explain.member[parseSubject(g).kind] : t.explain.inside} <SubjectLink org={org} of={g} /></li>)}
              <li>{r.through.length ? t.explain.has : t.explain.hasSelf} {r.role && r.grant.roleId ? <>{t.explain.role} <Link to="/orgs/$org/roles/$id" params={{ org, id: r.grant.roleId }}><Name of={r.role} /></Link></> : <>{t.explain.pattern} <Id of={r.pattern} /></>} {r.grant.scope === '*' ? t.everywhere : <>{t.explain.at} <Id of={r.grant.scope} /></>}</li>
              {r.role && r.pattern && <li>{t.explain.withPattern} <Id of={r.pattern} /></li>}
              <li>{t.explain.gives} <Id of={question.key} /></li>
            </ol>
            <Made grant={r.grant} />
          </li>
        ))}
        {s.expired.map(g => (
          <li key={g.id}>
            <span className="tag mind">{t.explain.expired}</span> <What org={org} grant={g} />
            <p className="small dim">{t.explain.expiredAt} {g.expiresAt ? <Time at={g.expiresAt} /> : null}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}

const by = (actor: string | undefined) => (actor ? <> · {t.explain.by} <Name of={actor} /></> : null)

function Made({ grant }: { grant: Grant }) {
  const p = grant.provenance
  return (
    <p className="small dim">
      {p.kind === 'seat' ? t.explain.seat : grant.createdAt > 0 && <><Time at={grant.createdAt} />{by(p.actorUserId)}</>}
      {p.requestId && <> · {t.explain.asked}</>}
      {grant.expiresAt ? <> · {t.grants.until} <Time at={grant.expiresAt} /></> : null}
    </p>
  )
}

function What({ org, grant: g }: { org: string; grant: Grant }) {
  return (
    <>
      {g.roleId ? <>{t.explain.role} <Link to="/orgs/$org/roles/$id" params={{ org, id: g.roleId }}><Name of={g.roleId} /></Link></> : <Id of={g.pattern ?? ''} />} {t.explain.to} <SubjectLink org={org} of={g.subject} />{' '}
      {g.scope === '*' ? t.everywhere : <>{t.explain.at} <Id of={g.scope} /></>}
    </>
  )
}

export function Chain({ steps: s, drawn }: { steps: Steps; drawn: boolean }) {
  const granted = new Set(s.routes.map(r => r.grant.scope))
  const revoked = new Set(s.revokes.map(r => r.scope))
  return (
    <section className={drawn ? 'card told' : 'card'}>
      <header><h2>{t.explain.chain}</h2></header>
      <ol className="chain">
        {s.chain.map(scope => (
          <li key={scope} className={revoked.has(scope) ? 'r' : granted.has(scope) ? 'g' : undefined}>
            <ScopeName of={scope} />{' '}
            {revoked.has(scope) && <span className="tag no">{t.explain.revoke}</span>} {granted.has(scope) && <span className="tag yes">{t.explain.grant}</span>}
          </li>
        ))}
      </ol>
    </section>
  )
}

const few = 3

/** What came near, and what would allow it. */
export function Nearest({ org, question, steps: s }: { org: string; question: Question; steps: Steps }) {
  const near = s.near
  const me = useMe()
  const grants = holds(me.data, 'authz_internal.access.manage_grants')
  if (!near) return null
  const lists: Array<[string, ReactNode[]]> = [
    [t.explain.notGrantable(near.grantableAt ?? []), (near.notGrantable ?? []).map(g => <What org={org} grant={g} />)],
    [t.explain.lacking, (near.lacking ?? []).map(l => <><What org={org} grant={l.grant} />{l.grant.roleId && <span className="dim"> – {t.explain.hasOnly} {l.patterns.map(p => <span key={p}><Id of={p} /> </span>)}</span>}</>)],
    [t.explain.nearElsewhere, (near.elsewhere ?? []).map(g => <What org={org} grant={g} />)],
  ]
  const may = question.subject.startsWith('user:')
  const ways = (near.roles?.length ?? 0) + (near.groups?.length ?? 0) > 0
  return (
    <>
      {(ways || !near.lentBy) && (
        <section className="card">
          <header><h2>{t.explain.toAllow}</h2></header>
          <ul className="list">
            {(near.groups ?? []).map(g => (
              <li key={'g' + g.groupId}><span className="grow">{t.explain.join} <SubjectLink org={org} of={'group:' + g.groupId} />{g.name && <> <span className="dim">(<Name of={g.name} />)</span></>}<br /><span className="small dim">{t.explain.joinHint}</span></span></li>
            ))}
            {(near.roles ?? []).map(r => (
              <li key={'r' + r.roleId}>
                <span className="grow">{t.explain.giveRole} <Link to="/orgs/$org/roles/$id" params={{ org, id: r.roleId }}><Name of={r.name} /></Link> {near.grantAt === '*' ? t.everywhere : <>{t.explain.at} <Id of={near.grantAt} /></>}<br /><span className="small dim">{t.explain.itHas} <Id of={r.pattern} /></span></span>
                <Give org={org} may={grants} search={{ subject: question.subject, role: r.roleId, scope: near.grantAt }} />
              </li>
            ))}
            <li>
              <span className="grow">{t.explain.giveKey} {near.grantAt === '*' ? t.everywhere : <>{t.explain.at} <Id of={near.grantAt} /></>}</span>
              <Give org={org} may={grants} search={{ subject: question.subject, pattern: question.key, scope: near.grantAt }} />
            </li>
          </ul>
          {may && near.requests && near.requests.length > 0 && (
            question.subject === 'user:' + (me.data?.caller.userId ?? '') ? <div className="stack close"><p className="small dim">{t.explain.mayAskOwn}</p><AskFor org={org} requests={near.requests} /></div> : <p className="small dim">{t.explain.mayAsk}</p>
          )}
        </section>
      )}
      {near.lentBy && <div className="note mind"><p>{t.explain.lentBy} <Name of={near.lentBy} /></p></div>}
      {near.parentless && <div className="note mind"><p>{t.explain.parentless(near.parentType ?? '')}</p></div>}
      {lists.some(([, rows]) => rows.length > 0) && (
        <section className="card">
          <header><h2>{t.explain.near}</h2></header>
          <div className="stack">
            {lists.filter(([, rows]) => rows.length).map(([title, rows]) => (
              <div key={title}>
                <h3>{title}</h3>
                <ul className="list">{rows.slice(0, few).map((r, i) => <li key={i}><span className="grow">{r}</span></li>)}</ul>
                {rows.length > few && <details><summary>{t.explain.rest(rows.length - few)}</summary><ul className="list">{rows.slice(few).map((r, i) => <li key={i}><span className="grow">{r}</span></li>)}</ul></details>}
              </div>
            ))}
          </div>
          {near.more && <p className="small dim">{t.explain.nearMore}</p>}
        </section>
      )}
    </>
  )
}

/** The way to the form of a grant, filled in; closed to whoever may not give. */
export function Give({ org, may, search }: { org: string; may: 'yes' | 'no' | 'unknown'; search: { subject: string; role?: string; pattern?: string; scope: string } }) {
  if (may === 'yes') return <Link className="button small" to="/orgs/$org/grants/new" params={{ org }} search={search}>{t.explain.give}</Link>
  return <Button small reason={t.needs('authz_internal.access.manage_grants')}>{t.explain.give}</Button>
}

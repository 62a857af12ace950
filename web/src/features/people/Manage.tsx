import { useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { readAnew, useAsk, useMe } from '../../api/queries.ts'
import type { HomedGrant, OneUser } from '../../api/schema.gen.ts'
import { p } from '../../text/people.ts'
import { t } from '../../text/en.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { cycle } from '../../ui/Cycle.tsx'
import { Id, Name, ScopeName, SubjectLink } from '../../ui/Id.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Loaded } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useDebounced } from '../../ui/useDebounced.ts'
import { Versions } from '../../ui/Versions.tsx'
import { Leave } from './Leave.tsx'

/** Whether somebody counts, to whom they report, and their end. */
export function Manage({ org, user }: { org: string; user: OneUser }) {
  return (
    <div className="columns">
      <State org={org} user={user} />
      <Manager org={org} user={user} />
      <Leave org={org} user={user} />
    </div>
  )
}

interface Props {
  org: string
  user: OneUser
}

function State({ org, user }: Props) {
  const me = useMe()
  const [to, setTo] = useState<boolean | null>(null)
  const supply = useAsk('GET /orgs/{org}/org/subject-access', { path: { org }, query: { userId: user.userId } }, { on: to !== null })
  const key = 'authz_internal.access.manage_grants'
  const { active } = user
  async function store() {
    if (to === null) return
    await call('PUT /orgs/{org}/org/users/{id}/active', { path: { org, id: user.userId }, body: { active: to } })
    say(to ? p.activated : p.deactivated)
    setTo(null)
    await readAnew()
  }
  return (
    <section className="card stack close">
      <h2>{p.state}</h2>
      <p className="dim">{active ? p.isActive : p.isInactive}</p>
      <div className="row"><Button kind={active ? 'danger' : undefined} reason={holds(me.data, key) === 'yes' ? null : t.needs(key)} onPress={() => setTo(!active)}>{active ? p.deactivate : p.activate}</Button></div>
      {to !== null && (
        <Sure title={to ? p.activateTitle : p.deactivateTitle} danger={!to} submit={to ? p.activateNow : p.deactivateNow} reason={supply.data ? null : t.state.waiting} onSure={store} onEnd={() => setTo(null)}>
          <Plan steps={[{ sign: to ? '+' : '−', text: <><strong><Name of={user.userId} /></strong> {to ? p.becomesActive : p.becomesInactive}</> }]} />
          <p className="dim">{w.root}</p>
          <Loaded of={supply} lines={1}>{of => <p><strong>{to ? p.rowsCount(of.grants.length) : p.rowsEnd(of.grants.length)}</strong></p>}</Loaded>
        </Sure>
      )}
    </section>
  )
}

function Manager({ org, user }: Props) {
  const me = useMe()
  const [base, setBase] = useState(user)
  const [manager, setManager] = useState(user.managerUserId ?? '')
  const [review, setReview] = useState(false)
  const typed = manager.trim()
  const q = useDebounced(typed)
  const found = useAsk('GET /orgs/{org}/org/users', { path: { org }, query: { q, limit: 8 } }, { on: q !== '', keep: true })
  const key = 'authz_internal.access.manage_reporting'
  const moved = user.etag !== base.etag && user.managerUserId !== base.managerUserId
  if (user.etag !== base.etag && !moved) setBase(user)
  const begin = (from: OneUser) => {
    setBase(from)
    setManager(from.managerUserId ?? '')
  }
  async function store() {
    try {
      await call('PUT /orgs/{org}/org/users/{id}/manager', { path: { org, id: user.userId }, body: { managerUserId: typed || null } }, { ifMatch: base.etag })
      const { user: now } = await call('GET /orgs/{org}/org/users/{id}', { path: { org, id: user.userId } })
      begin(now)
      say(p.moved)
      setReview(false)
    } finally {
      void readAnew()
    }
  }
  const name = (id: string | null) => (id ? <Name of={id} /> : <span>{p.nobody}</span>)
  return (
    <form className="card form" onSubmit={e => (e.preventDefault(), setReview(true))}>
      <header><h2>{p.line}</h2></header>
      {moved && <Versions rows={[{ label: p.line, theirs: name(user.managerUserId), mine: name(typed) }]} onTheirs={() => (begin(user), setReview(false))} onMine={() => (setBase(user), setReview(true))} />}
      <Choose label={p.managerId} hint={p.managerHint} value={manager} onChange={setManager} choices={(found.data?.users ?? []).map(u => ({ id: u.userId }))} />
      <div className="row"><Button type="submit" reason={holds(me.data, key) !== 'yes' ? t.needs(key) : moved ? w.meanwhile : typed === (base.managerUserId ?? '') ? w.unchanged : null}>{w.review}</Button></div>
      {review && !moved && (
        <Sure title={w.title} submit={p.store} onSure={store} onEnd={() => setReview(false)} about={failed => cycle(org, 'user', failed)}>
          <Plan steps={[{ sign: '→', text: <><strong><Name of={user.userId} /></strong>: {p.reportsTo} {name(base.managerUserId)} → <strong>{name(typed)}</strong></> }]} />
          <p className="dim">{w.root}</p>
          {typed && <OfLine org={org} title={p.comesWith} manager={typed} />}
          {base.managerUserId && <OfLine org={org} title={p.goesWith} manager={base.managerUserId} />}
          <p className="small dim">{p.aboveToo}</p>
        </Sure>
      )}
    </form>
  )
}

/** What those who report to somebody were given. */
function OfLine({ org, title, manager }: { org: string; title: string; manager: string }) {
  const query = (kind: string) => ({ path: { org }, query: { subject: `${kind}:${manager}`, homes: 'all' as const, limit: 50 } })
  const direct = useAsk('GET /orgs/{org}/org/grants', query('directs'))
  const below = useAsk('GET /orgs/{org}/org/grants', query('orgof'))
  return (
    <section className="stack tight">
      <h3>{title}</h3>
      <Loaded of={direct} lines={1}>
        {first => (
          <Loaded of={below} lines={1}>
            {second => {
              const rows: HomedGrant[] = [...first.grants, ...second.grants]
              if (rows.length === 0) return <p className="dim">{p.noRows}</p>
              return (
                <ul className="list keys bounded" tabIndex={0} aria-label={title}>
                  {rows.map(g => <li key={g.id}><span className="grow">{g.roleId ? <><span className="dim">{t.explain.role}</span> <Name of={g.roleId} /></> : <Id of={g.pattern ?? ''} />} {t.explain.to} <SubjectLink org={org} of={g.subject} /></span><span className="dim"><ScopeName of={g.scope} /></span></li>)}
                </ul>
              )
            }}
          </Loaded>
        )}
      </Loaded>
    </section>
  )
}

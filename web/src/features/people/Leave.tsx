import { useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { holds } from '../../api/gates.ts'
import { useOnce } from '../../api/once.ts'
import { readAnew, useAsk, useMe } from '../../api/queries.ts'
import type { Home, HomedGrant, HomedRevoke, OneUser } from '../../api/schema.gen.ts'
import { p } from '../../text/people.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { At, Id, Name, SubjectLink } from '../../ui/Id.tsx'
import { Plan, type Step } from '../../ui/Plan.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'

/** What became of one step of an offboarding. */
interface Outcome {
  where: string
  grants: number
  revokes: number
  /** A code, where it was not done. */
  error?: string
  unknown?: boolean
}

const most = 1000 // rows that a plan tells of
const key = 'authz_internal.access.manage_grants'

/** The end of a person's access, as one plan. */
export function Leave({ org, user }: { org: string; user: OneUser }) {
  const me = useMe()
  const [open, setOpen] = useState(false)
  const [done, setDone] = useState<Outcome[] | null>(null)
  return (
    <section className="card stack close" aria-label={p.leave}>
      <h2>{p.leave}</h2>
      <p className="dim">{p.leaveHint}</p>
      <div className="row"><Button kind="danger" reason={holds(me.data, key) === 'yes' ? null : t.needs(key)} onPress={() => setOpen(true)}>{p.leaveOpen}</Button></div>
      {done && <After org={org} userId={user.userId} done={done} />}
      {open && <Leaving org={org} user={user} onEnd={() => setOpen(false)} onDone={outcomes => (setDone(outcomes), setOpen(false))} />}
    </section>
  )
}

function Leaving({ org, user, onEnd, onDone }: { org: string; user: OneUser; onEnd: () => void; onDone: (done: Outcome[]) => void }) {
  const me = useMe()
  const once = useOnce()
  const grantsOf = (subject: string) => ({ path: { org }, query: { subject, homes: 'all' as const, limit: most } })
  const own = useAsk('GET /orgs/{org}/org/grants', grantsOf('user:' + user.userId))
  const directs = useAsk('GET /orgs/{org}/org/grants', grantsOf('directs:' + user.userId))
  const below = useAsk('GET /orgs/{org}/org/grants', grantsOf('orgof:' + user.userId))
  const revokes = useAsk('GET /orgs/{org}/org/revokes', { path: { org }, query: { userId: user.userId, homes: 'all', limit: most } })
  const edges = useAsk('GET /orgs/{org}/org/reporting-edges', { path: { org }, query: { limit: most } })
  const mayRequests = holds(me.data, 'authz_internal.requests.read') === 'yes'
  const requests = useAsk('GET /orgs/{org}/requests', { path: { org }, query: { requesterUserId: user.userId, state: 'pending', limit: 100 } }, { on: mayRequests })
  const hosted = me.data?.orgRoot.home === 'hosted'
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }, { on: hosted })
  const asked = [own, directs, below, revokes, edges]
  const failed = asked.find(a => a.error)?.error
  const ready = asked.every(a => a.data) && !!me.data && (!hosted || !!apps.data || !!apps.error)
  const unavailable = [...new Set([own, directs, below, revokes].flatMap(a => a.data?.unavailable ?? []).map(u => `${u.application || p.organization} (${u.code})`))]

  const federated = new Set(apps.data?.applications.filter(a => a.state === 'federated').map(a => a.id))
  // Where the organization's own step reaches; other homes are steps of their own.
  const reached = (home: Home) => home.kind === 'root' || (home.kind === 'application' && (hosted ? !apps.data || federated.has(home.application ?? '') : home.application === me.data?.orgRoot.application))
  const others = new Map<string, { grants: HomedGrant[]; revokes: HomedRevoke[] }>()
  const at = (home: Home) => {
    const id = home.application ?? '' // of the service itself
    if (!others.has(id)) others.set(id, { grants: [], revokes: [] })
    return others.get(id)!
  }
  const lines = [...(directs.data?.grants ?? []), ...(below.data?.grants ?? [])]
  const mine = own.data?.grants ?? []
  for (const g of [...mine, ...lines]) if (!reached(g.home)) at(g.home).grants.push(g)
  // Revokes of the service stay as long as the seat does: without them it would confer more.
  const kept = revokes.data?.revokes.filter(r => r.home.kind === 'account') ?? []
  const taken = revokes.data?.revokes.filter(r => r.home.kind !== 'account') ?? []
  for (const r of taken) if (!reached(r.home)) at(r.home).revokes.push(r)
  // The organization's step leaves to a member what that keeps for those who report to them.
  for (const g of lines) if (hosted && g.home.kind === 'application' && reached(g.home)) at(g.home).grants.push(g)
  const reports = edges.data?.edges.filter(e => e.managerUserId === user.userId) ?? []

  async function leave() {
    const outcomes: Outcome[] = []
    const step = async (where: string, run: (so: Outcome) => Promise<void>) => {
      const so: Outcome = { where, grants: 0, revokes: 0 }
      outcomes.push(so)
      try {
        await run(so)
      } catch (e) {
        if (!isFailure(e)) throw e
        so.error = e.code
        so.unknown = e.unknown
      }
    }
    // Refused here, nothing is done at all: the review stays, with the reason.
    const gone = await call('DELETE /orgs/{org}/org/subjects/{subject}', { path: { org, subject: 'user:' + user.userId } })
    outcomes.push({ where: p.organization, grants: gone.deletedGrants, revokes: gone.deletedRevokes })
    for (const m of gone.members) outcomes.push({ where: m.application, grants: m.deletedGrants, revokes: m.deletedRevokes, ...(m.error ? { error: m.error } : {}) })
    for (const [application, rows] of others) {
      await step(application || p.service, async so => {
        if (rows.grants.length) {
          const body = { ...(application ? { application } : {}), delete: rows.grants.slice(0, most).map(g => g.id) }
          await once(body, key => call('POST /orgs/{org}/org/grants/change', { path: { org }, body }, { key }))
          so.grants = Math.min(most, rows.grants.length)
        }
        // After the grants, so that nobody holds what one of them kept back.
        for (const r of rows.revokes) {
          await call('DELETE /orgs/{org}/org/revokes/{id}', { path: { org, id: r.id }, query: application ? { application } : {} })
          so.revokes++
        }
      })
    }
    onDone(outcomes)
    await readAnew()
  }

  const nothing = mine.length + lines.length + taken.length + user.groupIds.length === 0
  const minus = (text: Step['text']): Step => ({ sign: '−', text })
  const steps: Step[] = [
    ...(mine.length ? [minus(<Rows rows={mine} told={p.own(mine.length, !!own.data?.nextCursor)} />)] : []),
    ...(lines.length ? [minus(<Rows rows={lines} told={p.reports(lines.length)} />)] : []),
    ...(taken.length ? [minus(p.revokes(taken.length, !!revokes.data?.nextCursor))] : []),
    ...(user.groupIds.length ? [minus(<>{p.memberships(user.groupIds.length)}: <Name of={user.groupIds.join(', ')} /></>)] : []),
    ...(user.managerUserId ? [minus(p.edge(user.managerUserId))] : []),
    ...(requests.data?.entries.length ? [minus(p.requests(requests.data.entries.length))] : []),
    ...(user.stored ? [minus(p.record)] : []),
  ]
  return (
    <Sure title={p.leaveTitle(user.userId)} danger submit={p.leaveNow} typed={user.userId} reason={ready ? null : t.state.waiting} onSure={leave} onEnd={onEnd}>
      {failed ? <Failed of={failed} /> : !ready ? <Waiting lines={5} /> : (
        <>
          {unavailable.length > 0 && <div className="note mind" role="alert"><p>{t.person.missing} {unavailable.join(', ')}</p></div>}
          <section className="stack tight"><h3>{p.ends}</h3>{nothing && <p>{p.nothing}</p>}<Plan steps={steps} /></section>
          <section className="stack tight">
            <h3>{p.stays}</h3>
            <ul className="stack tight">
              {reports.length > 0 && <li>{p.staysReports(reports.length, !!edges.data?.nextCursor)} {reports.slice(0, 20).map((e, i) => <span key={e.userId}>{i > 0 && ', '}<SubjectLink org={org} of={'user:' + e.userId} /></span>)}{reports.length > 20 && '…'}</li>}
              <li>{p.staysSeat}{kept.length > 0 && ` ${p.staysRevokes(kept.length)}`}</li>
            </ul>
          </section>
          {!user.active && <div className="note mind"><p>{p.inactiveAfter}</p></div>}
          <p className="dim">{p.steps}</p>
        </>
      )}
    </Sure>
  )
}

const shown = 20

function Rows({ rows, told }: { rows: HomedGrant[]; told: string }) {
  return (
    <div className="stack tight">
      <span>{told}</span>
      <ul className="stack tight small">
        {rows.slice(0, shown).map(g => (
          <li key={g.id} className="dim">{g.roleId ? <>{t.explain.role} <Name of={g.roleId} /></> : <Id of={g.pattern ?? ''} />} <At of={g.scope} />{g.home.kind !== 'root' && <>, {g.home.kind === 'account' ? p.ofService : p.at(g.home.application ?? '')}</>}</li>
        ))}
        {rows.length > shown && <li className="dim">{t.explain.first(shown)}</li>}
      </ul>
    </div>
  )
}

/** What became of an offboarding, and what is held now, read anew. */
function After({ org, userId, done }: { org: string; userId: string; done: Outcome[] }) {
  const grants = useAsk('GET /orgs/{org}/org/grants', { path: { org }, query: { subject: 'user:' + userId, homes: 'all', limit: 2 } })
  const revokes = useAsk('GET /orgs/{org}/org/revokes', { path: { org }, query: { userId, homes: 'all', limit: most } })
  const now = useAsk('GET /orgs/{org}/org/users/{id}', { path: { org, id: userId } })
  const left = (grants.data?.grants.length ?? 0) + (revokes.data?.revokes.filter(r => r.home.kind !== 'account').length ?? 0) + (now.data?.user.groupIds.length ?? 0)
  const unread = [...(grants.data?.unavailable ?? []), ...(revokes.data?.unavailable ?? [])].map(u => u.application || p.organization)
  const failed = grants.error ?? revokes.error ?? now.error
  return (
    <section className={done.some(o => o.error) ? 'note mind' : 'note yes'} role="status" aria-label={p.ended}>
      <div className="grow stack tight">
        <ul className="stack tight">
          {done.map((o, i) => <li key={i}><strong><Name of={o.where} /></strong>: {o.error ? <><code>{o.error}</code>, {o.unknown ? p.unknown : p.failed}</> : p.doneRoot(o.grants, o.revokes)}</li>)}
        </ul>
        {failed ? <Failed of={failed} /> : !grants.data || !revokes.data || !now.data || grants.isFetching || revokes.isFetching || now.isFetching ? <Waiting lines={1} /> : unread.length ? <p>{p.unread} {[...new Set(unread)].join(', ')}</p> : <p><strong>{left ? p.stillHeld(left) : p.heldNothing}</strong></p>}
      </div>
    </section>
  )
}

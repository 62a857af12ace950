import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useOnce } from '../../api/once.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useAsk, useMe } from '../../api/queries.ts'
import type { Group } from '../../api/schema.gen.ts'
import { dissolved, withoutGroup } from '../../domain/plans.ts'
import { g } from '../../text/groups.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, SubjectName } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan, type Step } from '../../ui/Plan.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'

type How = 'dissolve' | 'remove'

const most = 1000

/** The two ways in which a group ends. */
export function End({ org, group, reason }: { org: string; group: Group; reason: string | null }) {
  const [how, setHow] = useState<How | null>(null)
  return (
    <section className="card stack">
      <div className="stack close"><h2>{g.dissolveTitle}</h2><p className="dim">{g.dissolveHint}</p><div className="row"><Button kind="danger" reason={reason} onPress={() => setHow('dissolve')}>{g.dissolve}</Button></div></div>
      <div className="stack close"><h2>{g.removeTitle}</h2><p className="dim">{g.removeHint}</p><div className="row"><Button kind="danger" reason={reason} onPress={() => setHow('remove')}>{g.remove}</Button></div></div>
      {how && <Ending key={how} org={org} group={group} how={how} onEnd={() => setHow(null)} />}
    </section>
  )
}

function Ending({ org, group, how, onEnd }: { org: string; group: Group; how: How; onEnd: () => void }) {
  const navigate = useNavigate()
  const root = useMe().data?.orgRoot
  const once = useOnce()
  const [base] = useState(group)
  const rows = useAsk('GET /orgs/{org}/org/grants', { path: { org }, query: { subject: 'group:' + group.id, homes: 'all', limit: most } })
  const count = useAsk('GET /orgs/{org}/org/groups/{id}/members/count', { path: { org, id: group.id } })
  const all = useAsk('GET /orgs/{org}/org/groups', { path: { org }, query: { limit: most } })
  const children = all.data?.groups.filter(c => c.parents.includes(group.id)) ?? []
  const of = (home: { kind: string; application?: string }) => home.kind === 'root' || (home.kind === 'application' && home.application === root?.application)
  const grants = rows.data?.grants.filter(r => of(r.home)) ?? []
  const others = [...new Set((rows.data?.grants ?? []).filter(r => !of(r.home)).map(r => r.home.application ?? r.home.kind))]
  const ready = !!rows.data && !!all.data && !!root
  const effects = useEffects(ready ? (how === 'remove' ? withoutGroup(group.id, grants) : dissolved(group, children, grants, rows.dataUpdatedAt)) : null)
  const failed = rows.error ?? count.error ?? all.error
  async function end() {
    const path = { org, id: group.id }
    if (how === 'remove') await call('DELETE /orgs/{org}/org/groups/{id}', { path }, { ifMatch: base.etag })
    else await once(path, key => call('POST /orgs/{org}/org/groups/{id}/dissolve', { path }, { key }))
    say(how === 'remove' ? g.removed : g.dissolved)
    await navigate({ to: '/orgs/$org/groups', params: { org } })
    void readAnew()
  }
  const steps: Step[] = [
    { sign: '−', text: <>{g.gone} <strong><Name of={group.name} /></strong> <Id of={group.id} /></> },
    ...(grants.length ? [{ sign: '−' as const, text: g.grants(grants.length, !!rows.data?.nextCursor) }] : []),
    ...(count.data?.count ? [{ sign: '−' as const, text: g.members(count.data.count) }] : []),
    ...(how === 'dissolve' ? children.map(c => ({ sign: '→' as const, text: <><SubjectName of={'group:' + c.id} /> {g.takesPlace}</> })) : children.length ? [{ sign: '−' as const, text: g.children(children.length) }] : []),
  ]
  return (
    <Sure title={how === 'remove' ? g.removeTitle : g.dissolveTitle} danger submit={how === 'remove' ? g.removeNow : g.dissolveNow} typed={group.id} reason={untilTold(effects)} onSure={end} onEnd={onEnd}>
      {failed ? <Failed of={failed} /> : !ready ? <Waiting lines={4} /> : (
        <>
          <Plan steps={steps} />
          {how === 'dissolve' && children.length === 0 && <p className="dim">{g.noChildren}</p>}
          {others.length > 0 && <p className="dim">{g.elsewhere(others)}</p>}
          <p className="dim">{w.root}</p>
          <Impact of={effects} />
        </>
      )}
    </Sure>
  )
}

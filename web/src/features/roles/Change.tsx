import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useAsk, useMe } from '../../api/queries.ts'
import type { Role } from '../../api/schema.gen.ts'
import { asked, policyOf, samePolicy } from '../../domain/asking.ts'
import { beyond } from '../../domain/plans.ts'
import { a as asking } from '../../text/asking.ts'
import { t } from '../../text/en.ts'
import { r } from '../../text/roles.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan, type Step } from '../../ui/Plan.tsx'
import { Loaded } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Versions } from '../../ui/Versions.tsx'
import { Asking, Told } from './Asking.tsx'
import { Difference } from './Difference.tsx'
import { keyOf, ofAccount } from './gate.ts'
import { Patterns } from './Patterns.tsx'

const lines = (patterns: string[]) => [...patterns].sort().join('\n')

/** A role under change: what it was when the form began, and what it shall be. */
export function Change({ org, role }: { org: string; role: Role }) {
  const me = useMe()
  const [base, setBase] = useState(role)
  const [name, setName] = useState(role.name)
  const [description, setDescription] = useState(role.description ?? '')
  const [patterns, setPatterns] = useState(role.patterns)
  const [policy, setPolicy] = useState(asked(role.requestable))
  const [review, setReview] = useState(false)
  const key = keyOf(base.patterns)
  const account = ofAccount(base.patterns)
  const renamed = name.trim() !== base.name
  const described = description.trim() !== (base.description ?? '')
  const repatterned = lines(patterns) !== lines(base.patterns)
  const reasked = !samePolicy(policyOf(policy), base.requestable)
  const moved = role.etag !== base.etag
  const effects = useEffects(review && !moved && !account && repatterned ? { with: { roles: [{ roleId: role.id, patterns }] } } : null)
  const begin = (from: Role) => {
    setBase(from)
    setName(from.name)
    setDescription(from.description ?? '')
    setPatterns(from.patterns)
    setPolicy(asked(from.requestable))
  }
  async function store() {
    const body = { ...(renamed ? { name: name.trim() } : {}), ...(described ? { description: description.trim() || null } : {}), ...(repatterned ? { patterns } : {}), ...(reasked ? { requestable: policyOf(policy) } : {}) }
    try {
      const told = await call('PATCH /orgs/{org}/org/roles/{id}', { path: { org, id: role.id }, body }, { ifMatch: base.etag })
      begin(told.role)
      say(r.changed)
      setReview(false)
    } finally {
      void readAnew() // also after a refusal: both versions are shown then
    }
  }
  const about: Step[] = [
    ...(renamed ? [{ sign: '→' as const, text: <>{r.field.name}: <Name of={base.name} /> → <strong><Name of={name.trim()} /></strong></> }] : []),
    ...(described ? [{ sign: '→' as const, text: <>{r.field.about}: <Name of={base.description || w.empty} /> → <strong><Name of={description.trim() || w.empty} /></strong></> }] : []),
    ...(reasked ? [{ sign: '→' as const, text: <>{asking.field}: <Told of={base.requestable} /> → <strong><Told of={policyOf(policy)} /></strong></> }] : []),
  ]
  return (
    <>
      <form className="form" onSubmit={e => (e.preventDefault(), setReview(true))}>
        <div className="card fields">
          <Field label={t.roles.name}>{a => <input {...a} value={name} onChange={e => setName(e.target.value)} required autoComplete="off" />}</Field>
          <Field label={t.groups.about}>{a => <input {...a} value={description} onChange={e => setDescription(e.target.value)} autoComplete="off" />}</Field>
        </div>
        <Patterns patterns={patterns} onChange={setPatterns} />
        {!account && <Asking of={policy} onChange={setPolicy} />}
        {moved && (
          <Versions
            rows={[
              { label: r.field.name, theirs: <Name of={role.name} />, mine: <Name of={name} />, same: role.name === name.trim() },
              { label: r.field.about, theirs: <Name of={role.description || w.empty} />, mine: <Name of={description || w.empty} />, same: (role.description ?? '') === description.trim() },
              { label: r.field.patterns, theirs: <List of={role.patterns} beyond={patterns} />, mine: <List of={patterns} beyond={role.patterns} />, same: lines(role.patterns) === lines(patterns) },
              { label: asking.field, theirs: <Told of={role.requestable} />, mine: <Told of={policyOf(policy)} />, same: samePolicy(role.requestable, policyOf(policy)) },
            ].filter(row => !row.same)}
            onTheirs={() => (begin(role), setReview(false))} onMine={() => (setBase(role), setReview(true))}
          />
        )}
        <div className="row"><Button kind="main" type="submit" reason={holds(me.data, key) !== 'yes' ? t.needs(key) : moved ? w.meanwhile : policy.on && !policy.stages.length ? asking.noStage : renamed || described || repatterned || reasked ? null : w.unchanged}>{w.review}</Button></div>
      </form>
      {review && !moved && (
        <Sure title={w.title} submit={r.store} reason={account || !repatterned ? null : untilTold(effects)} onSure={store} onEnd={() => setReview(false)}>
          <Difference before={base.patterns} after={patterns} first={about} />
          <p className="dim">{account ? r.account : w.root}</p>
          {account ? <p>{t.give.account}</p> : repatterned ? <Impact of={effects} /> : <p><strong>{reasked ? asking.words : r.words}</strong></p>}
        </Sure>
      )}
      <End org={org} role={role} />
    </>
  )
}

/** Patterns, with those marked that the other list lacks. */
function List({ of, beyond: other }: { of: string[]; beyond: string[] }) {
  const more = beyond(of, other)
  return <ul className="stack tight">{of.length === 0 && <li className="dim">{w.empty}</li>}{of.map(p => <li key={p}>{more.includes(p) ? <strong><Id of={p} /></strong> : <Id of={p} />}</li>)}</ul>
}

function End({ org, role }: { org: string; role: Role }) {
  const me = useMe()
  const navigate = useNavigate()
  const [base, setBase] = useState<Role | null>(null)
  const key = keyOf(role.patterns)
  const rows = useAsk('GET /orgs/{org}/org/grants', { path: { org }, query: { roleId: role.id, homes: 'all', limit: 100 } }, { on: base !== null })
  const free = rows.data?.grants.length === 0
  async function remove() {
    await call('DELETE /orgs/{org}/org/roles/{id}', { path: { org, id: role.id } }, { ifMatch: base?.etag })
    say(r.removed)
    await navigate({ to: '/orgs/$org/roles', params: { org } })
    void readAnew()
  }
  return (
    <section className="card stack close">
      <h2>{r.end}</h2>
      <p className="dim">{r.endHint}</p>
      <div className="row"><Button kind="danger" reason={holds(me.data, key) === 'yes' ? null : t.needs(key)} onPress={() => setBase(role)}>{r.remove}</Button></div>
      {base && (
        <Sure title={r.end} danger submit={r.removeNow} typed={free ? role.id : undefined} reason={rows.data ? (rows.data.grants.length ? r.named(rows.data.grants.length, !!rows.data.nextCursor) : null) : t.state.waiting} onSure={remove} onEnd={() => setBase(null)}>
          <Plan steps={[{ sign: '−', text: <>{r.makes} <strong><Name of={role.name} /></strong> <Id of={role.id} /></> }]} />
          <Loaded of={rows} lines={2}>
            {({ grants, nextCursor, unavailable }) => (
              <>
                {(unavailable?.length ?? 0) > 0 && <div className="note mind"><p>{t.person.missing} {unavailable!.map(u => u.application || t.person.root).join(', ')}</p></div>}
                {grants.length ? (
                  <div className="note mind"><div><p>{r.named(grants.length, !!nextCursor)}</p><p><Link to="/orgs/$org/roles/$id" params={{ org, id: role.id }} search={{ tab: 'grants' }}>{r.show}</Link></p></div></div>
                ) : !unavailable?.length && <p><strong>{r.unnamed}</strong></p>}
              </>
            )}
          </Loaded>
        </Sure>
      )}
    </section>
  )
}

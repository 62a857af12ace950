import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call, newKey } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useOnce } from '../../api/once.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useMe, useOrg } from '../../api/queries.ts'
import { asked, policyOf } from '../../domain/asking.ts'
import { a as asking } from '../../text/asking.ts'
import { t } from '../../text/en.ts'
import { r } from '../../text/roles.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Page } from '../../ui/Page.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Asking, Told } from './Asking.tsx'
import { Difference } from './Difference.tsx'
import { keyOf, ofAccount } from './gate.ts'
import { Patterns } from './Patterns.tsx'

export function NewRole() {
  const org = useOrg()
  const navigate = useNavigate()
  const me = useMe()
  const once = useOnce()
  const [supposed] = useState(newKey) // the id of a role that nobody has
  const [name, setName] = useState('')
  const [id, setId] = useState('')
  const [description, setDescription] = useState('')
  const [patterns, setPatterns] = useState<string[]>([])
  const [policy, setPolicy] = useState(asked(null))
  const [review, setReview] = useState(false)
  const key = keyOf(patterns)
  const account = ofAccount(patterns)
  const requestable = account ? null : policyOf(policy)
  // Of a role that nobody has no answer changes; the host says whether its patterns can be.
  const effects = useEffects(review && !account ? { with: { roles: [{ roleId: supposed, patterns }] } } : null)
  async function make() {
    const body = { name: name.trim(), ...(id.trim() ? { id: id.trim() } : {}), ...(description.trim() ? { description: description.trim() } : {}), patterns, ...(requestable ? { requestable } : {}) }
    const { role } = await once(body, key => call('POST /orgs/{org}/org/roles', { path: { org }, body }, { key }))
    say(r.made)
    void readAnew()
    await navigate({ to: '/orgs/$org/roles/$id', params: { org, id: role.id } })
  }
  return (
    <Page title={r.new} lead={r.newLead}>
      <form className="form" onSubmit={e => (e.preventDefault(), setReview(true))}>
        <div className="card fields">
          <Field label={t.roles.name}>{a => <input {...a} value={name} onChange={e => setName(e.target.value)} required autoComplete="off" />}</Field>
          <Field label={t.roles.id} hint={w.idHint}>{a => <input {...a} className="mono" value={id} onChange={e => setId(e.target.value)} autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field>
          <Field label={t.groups.about}>{a => <input {...a} value={description} onChange={e => setDescription(e.target.value)} autoComplete="off" />}</Field>
        </div>
        <Patterns patterns={patterns} onChange={setPatterns} />
        {!account && <Asking of={policy} onChange={setPolicy} />}
        <div className="row"><Button kind="main" type="submit" reason={holds(me.data, key) !== 'yes' ? t.needs(key) : requestable && !requestable.stages.length ? asking.noStage : null}>{w.review}</Button><Link className="button" to="/orgs/$org/roles" params={{ org }}>{t.cancel}</Link></div>
      </form>
      {review && (
        <Sure title={w.title} submit={r.make} reason={account ? null : untilTold(effects)} onSure={make} onEnd={() => setReview(false)}>
          <Difference before={[]} after={patterns} first={[{ sign: '+', text: <>{r.makes} <strong><Name of={name} /></strong>{id.trim() && <> <Id of={id.trim()} /></>}</> }, ...(requestable ? [{ sign: '+' as const, text: <>{asking.field}: <Told of={requestable} /></> }] : [])]} />
          <p className="dim">{account ? r.account : w.root}</p>
          {account ? <p>{t.give.account}</p> : <Impact of={effects} none={r.nobody} />}
        </Sure>
      )}
    </Page>
  )
}

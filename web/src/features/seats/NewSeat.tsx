import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useOnce } from '../../api/once.ts'
import { queries, useAsk, useMe, useOrg } from '../../api/queries.ts'
import { t as all } from '../../text/en.ts'
import { seats as t } from '../../text/seats.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Field } from '../../ui/Field.tsx'
import { Name } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { refusal } from '../../ui/Refusal.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { kinds } from './State.tsx'

/** Gives somebody a seat, after a review. */
export function NewSeat() {
  const org = useOrg()
  const navigate = useNavigate()
  const me = useMe()
  const search = useSearch({ from: '/signed-in/orgs/$org/invite' })
  const once = useOnce()
  const [userId, setUserId] = useState(search.user ?? '')
  const [kind, setKind] = useState(kinds.find(k => k === search.kind) ?? 'portal')
  const [displayName, setName] = useState('')
  const [email, setEmail] = useState('')
  const [reviewing, setReviewing] = useState(false)
  const people = useAsk('GET /orgs/{org}/org/users', { path: { org }, query: { q: userId, limit: 8 } }, { on: userId !== '' && holds(me.data, 'authz_internal.access.read') === 'yes', keep: true })
  function review(e: FormEvent) {
    e.preventDefault()
    setReviewing(true)
  }
  async function invite() {
    const body = { userId: userId.trim(), kind, ...(displayName.trim() ? { displayName: displayName.trim() } : {}), ...(email.trim() ? { email: email.trim() } : {}) }
    const { seat } = await once(body, key => call('POST /orgs/{org}/seats', { path: { org }, body }, { key }))
    say(t.made)
    void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
    await navigate({ to: '/orgs/$org/seats/$id', params: { org, id: seat.userId } })
  }
  return (
    <Page title={t.newTitle} lead={t.newLead}>
      <form className="card form measure" onSubmit={review}>
        <Choose label={t.user} hint={t.userHint} value={userId} onChange={setUserId} choices={(people.data?.users ?? []).map(u => ({ id: u.userId }))} required />
        <Field label={t.kind} hint={t.kindHints[kind]}>{a => <select {...a} value={kind} onChange={e => setKind(e.target.value as typeof kind)}>{kinds.map(k => <option key={k} value={k} disabled={k === 'owner' && me.data?.seat?.kind !== 'owner'}>{t.kinds[k]}</option>)}</select>}</Field>
        <div className="fields">
          <Field label={t.name}>{a => <input {...a} value={displayName} onChange={e => setName(e.target.value)} maxLength={200} />}</Field>
          <Field label={t.email}>{a => <input {...a} type="email" value={email} onChange={e => setEmail(e.target.value)} />}</Field>
        </div>
        <div className="row"><Button kind="main" type="submit">{t.review}</Button><Link className="button" to="/orgs/$org/seats" params={{ org }}>{all.cancel}</Link></div>
      </form>
      {reviewing && (
        <Sure title={t.inviteTitle} submit={t.inviteNow} onSure={invite} onEnd={() => setReviewing(false)} about={refusal}>
          <Plan steps={[{ sign: '+', text: <><strong><Name of={userId.trim()} /></strong> {t.joins} {all.seatKinds[kind]}{(displayName || email) && <span className="dim"> · <Name of={[displayName, email].filter(Boolean).join(' · ')} /></span>}</> }]} />
          <p className="dim">{t.kindHints[kind]}</p>
        </Sure>
      )}
    </Page>
  )
}

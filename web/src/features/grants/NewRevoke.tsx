import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { useOnce } from '../../api/once.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useAsk, useMe, useOrg, useVocabulary } from '../../api/queries.ts'
import { writer } from '../../api/rows.ts'
import { homeOf } from '../../domain/catalog.ts'
import { rv } from '../../text/revokes.ts'
import { t } from '../../text/en.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { At, Id, Name } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useDebounced } from '../../ui/useDebounced.ts'
import { revokesKey } from './gate.ts'

export function NewRevoke() {
  const org = useOrg()
  const search = useSearch({ from: '/signed-in/orgs/$org/revokes/new' })
  const navigate = useNavigate()
  const me = useMe()
  const words = useVocabulary()
  const once = useOnce()
  const [user, setUser] = useState(search.user ?? '')
  const [pattern, setPattern] = useState(search.pattern ?? '')
  const [scope, setScope] = useState(search.scope === '*' ? '' : (search.scope ?? ''))
  const [wrong, setWrong] = useState(false)
  const [review, setReview] = useState(false)
  const q = useDebounced(user.trim())
  const people = useAsk('GET /orgs/{org}/org/users', { path: { org }, query: { q, limit: 6 } }, { on: q !== '', keep: true })
  const input = { userId: user.trim(), pattern: pattern.trim(), scope: scope.trim() || '*' }
  const application = homeOf(words.data, input.scope) ?? ''
  const account = input.pattern.startsWith('cloud.') || input.scope.startsWith('cloud.')
  const { by, key } = writer(me.data, account ? 'cloud.seats.update_seat' : revokesKey, application)
  const effects = useEffects(review && !account ? { with: { revokes: [input] } } : null, application)
  function begin(e: FormEvent) {
    e.preventDefault()
    const other = /^(group|service|org|directs|orgof):|^everyone$/.test(input.userId)
    setWrong(other)
    if (other) return
    setReview(true)
    void navigate({ to: '/orgs/$org/revokes/new', params: { org }, search: { user: input.userId, pattern: input.pattern, scope: input.scope }, replace: true })
  }
  async function make() {
    const made = await once([by, input], async key =>
      by === 'application'
        ? call('POST /orgs/{org}/applications/{app}/revokes', { path: { org, app: application }, body: input }, { key })
        : call('POST /orgs/{org}/org/revokes', { path: { org }, body: input }, { key }),
    )
    say(rv.made)
    void readAnew()
    await navigate({ to: '/orgs/$org/revokes', params: { org }, search: { home: application || undefined, user: input.userId, open: made.revoke.id } })
  }
  return (
    <Page title={rv.new} lead={rv.lead}>
      <form className="card form measure" onSubmit={begin}>
        <Choose label={rv.person} hint={wrong ? <span className="wrong">{rv.wrongPerson}</span> : rv.personHint} value={user} onChange={v => (setWrong(false), setUser(v))} choices={(people.data?.users ?? []).map(u => ({ id: u.userId }))} required />
        <Choose label={rv.pattern} hint={rv.patternHint} value={pattern} onChange={setPattern} choices={(words.data?.leaves ?? []).map(l => ({ id: l.key, note: l.description }))} mono required />
        <Choose label={t.grants.scope} hint={rv.scopeHint} value={scope} onChange={setScope} choices={[]} placeholder={t.explain.scopeHint} mono />
        <div className="row"><Button kind="main" type="submit" reason={me.data && !by ? t.needs(key) : null}>{w.review}</Button><Link className="button" to="/orgs/$org/revokes" params={{ org }}>{t.cancel}</Link></div>
      </form>
      {review && (
        <Sure title={w.title} danger submit={rv.submit} reason={account ? null : untilTold(effects)} onSure={make} onEnd={() => setReview(false)}>
          <Plan steps={[{ sign: '−', text: <><Id of={input.pattern} /> {rv.takes} <strong><Name of={input.userId} /></strong> <At of={input.scope} /></> }]} />
          <p className="dim">{account ? t.give.account : application ? w.keptBy(application) : w.root}</p>
          {!account && <Impact of={effects} none={rv.none} />}
        </Sure>
      )}
    </Page>
  )
}

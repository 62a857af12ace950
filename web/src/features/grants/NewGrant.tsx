import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { useOnce } from '../../api/once.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useAsk, useMe, useOrg, useVocabulary } from '../../api/queries.ts'
import { writer } from '../../api/rows.ts'
import type { GrantInput, HomedGrant2 } from '../../api/schema.gen.ts'
import { homeOf } from '../../domain/catalog.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Field } from '../../ui/Field.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Done } from './Done.tsx'
import { grantsKey } from './gate.ts'
import { What } from './What.tsx'

export function NewGrant() {
  const org = useOrg()
  const search = useSearch({ from: '/signed-in/orgs/$org/grants/new' })
  const navigate = useNavigate({ from: '/orgs/$org/grants/new' })
  const me = useMe()
  const words = useVocabulary()
  const once = useOnce()
  const [subject, setSubject] = useState(search.subject ?? '')
  const [by, setBy] = useState<'role' | 'pattern'>(search.pattern ? 'pattern' : 'role')
  const [role, setRole] = useState(search.role ?? '')
  const [pattern, setPattern] = useState(search.pattern ?? '')
  const [scope, setScope] = useState(search.scope === '*' ? '' : (search.scope ?? ''))
  const [until, setUntil] = useState(search.until ?? '')
  const [wrong, setWrong] = useState<string | null>(null)
  const [input, setInput] = useState<GrantInput | null>(null) // under review
  const [done, setDone] = useState<HomedGrant2 | null>(null)
  const { id } = parseSubject(subject)
  const find = { path: { org }, query: { q: id, limit: 6 } }
  const people = useAsk('GET /orgs/{org}/org/users', find, { on: id !== '', keep: true })
  const groups = useAsk('GET /orgs/{org}/org/groups', find, { on: id !== '', keep: true })
  const roles = useAsk('GET /orgs/{org}/org/roles', { path: { org }, query: { limit: 1000 } })
  const subjects = [
    ...(people.data?.users ?? []).map(u => ({ id: 'user:' + u.userId })),
    ...(groups.data?.groups ?? []).map(g => ({ id: 'group:' + g.id, note: g.name })),
  ]
  const patterns = (words.data?.leaves ?? []).map(l => ({ id: l.key, note: l.description }))

  const at = input?.scope ?? (scope.trim() || '*')
  const application = homeOf(words.data, at) ?? ''
  const account = at.startsWith('cloud.') || (by === 'pattern' && pattern.startsWith('cloud.')) || (by === 'role' && (roles.data?.roles.find(r => r.id === role)?.patterns ?? []).some(p => p.startsWith('cloud.')))
  const { by: writes, key: needed } = writer(me.data, account ? 'cloud.seats.update_seat' : grantsKey, application)
  const effects = useEffects(input && !account ? { with: { grants: [{ subject: input.subject, scope: at, ...(input.roleId ? { roleId: input.roleId } : { pattern: input.pattern ?? '' }), ...(input.expiresAt ? { expiresAt: input.expiresAt } : {}) }] } } : null, application)

  function review(e: FormEvent) {
    e.preventDefault()
    if (!subject.includes(':') && subject !== 'everyone') return setWrong(t.give.wrongSubject)
    const end = until ? new Date(until).getTime() : null
    setInput({ subject: subject.trim(), scope: scope.trim() || '*', ...(by === 'role' ? { roleId: role.trim() } : { pattern: pattern.trim() }), ...(end ? { expiresAt: end } : {}) })
    void navigate({ search: { subject, scope: scope.trim() || '*', until, ...(by === 'role' ? { role } : { pattern }) }, replace: true })
  }

  async function give() {
    if (!input) return
    const made = await once([writes, input], async (key): Promise<HomedGrant2> =>
      writes === 'application'
        ? { ...(await call('POST /orgs/{org}/applications/{app}/grants', { path: { org, app: application }, body: input }, { key })), home: { kind: 'application', application } }
        : call('POST /orgs/{org}/org/grants', { path: { org }, body: input }, { key }),
    )
    setDone(made)
    setInput(null)
    say(t.give.done)
    void readAnew()
  }

  function again() {
    setInput(null)
    setDone(null)
  }

  return (
    <Page title={t.give.title} lead={t.give.lead}>
      {done ? (
        <Done org={org} made={done} onAgain={again} />
      ) : (
        <form className="card form measure" onSubmit={review}>
          <Choose label={t.give.whom} hint={wrong ? <span className="wrong">{wrong}</span> : t.give.whomHint} value={subject} onChange={v => (setWrong(null), setSubject(v))} choices={subjects} required />
          <fieldset className="choice">
            <legend className="label">{t.give.what}</legend>
            <label><input type="radio" name="by" checked={by === 'role'} onChange={() => setBy('role')} /> {t.give.byRole}</label>
            <label><input type="radio" name="by" checked={by === 'pattern'} onChange={() => setBy('pattern')} /> {t.give.byPattern}</label>
          </fieldset>
          {by === 'role' ? (
            <Choose label={t.grants.role} value={role} onChange={setRole} choices={(roles.data?.roles ?? []).map(r => ({ id: r.id, note: r.name }))} required />
          ) : (
            <Choose label={t.grants.pattern} hint={t.give.patternHint} value={pattern} onChange={setPattern} choices={patterns} mono required />
          )}
          <div className="fields">
            <Choose label={t.grants.scope} hint={t.give.scopeHint} value={scope} onChange={setScope} choices={[]} placeholder={t.explain.scopeHint} mono />
            <Field label={t.grants.until} hint={t.give.untilHint}>{a => <input {...a} type="datetime-local" value={until} onChange={e => setUntil(e.target.value)} />}</Field>
          </div>
          <div className="row"><Button kind="main" type="submit" reason={me.data && !writes ? t.needs(needed) : null}>{t.give.review}</Button><Link className="button" to="/orgs/$org/grants" params={{ org }}>{t.cancel}</Link></div>
        </form>
      )}
      {input && (
        <Sure
          title={t.give.reviewTitle} submit={t.give.submit} reason={account ? null : untilTold(effects)} onSure={give} onEnd={() => setInput(null)}
          about={failed => failed.code === 'escalation_refused' && <span>{t.give.refused((failed.fields?.missing as Array<{ key: string; scope: string }> | undefined) ?? [])}</span>}
        >
          <Plan steps={[{ sign: '+', text: <What of={input} /> }]} />
          <p className="dim">{account ? t.give.account : application ? w.keptBy(application) : w.root}</p>
          {!account && <Impact of={effects} none={t.give.noChange} />}
        </Sure>
      )}
    </Page>
  )
}

import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { call, newKey } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { queries, useAsk, useOrg, useVocabulary } from '../../api/queries.ts'
import type { GrantInput, HomedGrant2, Impact } from '../../api/schema.gen.ts'
import { namespaceOf } from '../../domain/scopes.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Field } from '../../ui/Field.tsx'
import { Page } from '../../ui/Page.tsx'
import { Failed } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Done } from './Done.tsx'
import { Review } from './Review.tsx'

export interface Reviewed {
  input: GrantInput
  impact: Impact | null
  /** Why the application cannot tell what would change. */
  untold: string
}

export function NewGrant() {
  const org = useOrg()
  const search = useSearch({ from: '/signed-in/orgs/$org/grants/new' })
  const navigate = useNavigate({ from: '/orgs/$org/grants/new' })
  const words = useVocabulary()
  const [key, setKey] = useState(newKey) // one form is one write, however often it is sent
  const [subject, setSubject] = useState(search.subject ?? '')
  const [by, setBy] = useState<'role' | 'pattern'>(search.pattern ? 'pattern' : 'role')
  const [role, setRole] = useState(search.role ?? '')
  const [pattern, setPattern] = useState(search.pattern ?? '')
  const [scope, setScope] = useState(search.scope === '*' ? '' : (search.scope ?? ''))
  const [until, setUntil] = useState(search.until ?? '')
  const [busy, setBusy] = useState(false)
  const [wrong, setWrong] = useState<string | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [reviewed, setReviewed] = useState<Reviewed | null>(null)
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

  async function review(e: FormEvent) {
    e.preventDefault()
    if (!subject.includes(':') && subject !== 'everyone') return setWrong(t.give.wrongSubject)
    const at = until ? new Date(until).getTime() : null
    const input: GrantInput = { subject: subject.trim(), scope: scope.trim() || '*', ...(by === 'role' ? { roleId: role.trim() } : { pattern: pattern.trim() }), ...(at ? { expiresAt: at } : {}) }
    setBusy(true)
    setError(null)
    try {
      setReviewed({ input, ...(await impactOf(input)) })
      void navigate({ search: { subject, scope: input.scope ?? '', until, ...(by === 'role' ? { role } : { pattern }) }, replace: true })
    } catch (failed) {
      setError(failed)
    }
    setBusy(false)
  }

  async function impactOf(input: GrantInput): Promise<Omit<Reviewed, 'input'>> {
    if ((input.pattern ?? input.roleId ?? '').startsWith('cloud')) return { impact: null, untold: t.give.account }
    const application = input.scope && input.scope !== '*' ? words.data?.owners.get(namespaceOf(input.scope)) : undefined
    const { subject, scope, expiresAt } = input
    const supposed = { subject, scope: scope ?? '*', ...(input.roleId ? { roleId: input.roleId } : { pattern: input.pattern ?? '' }), ...(expiresAt ? { expiresAt } : {}) }
    try {
      return { impact: await call('POST /orgs/{org}/org/plan', { path: { org }, body: { ...(application ? { application } : {}), with: { grants: [supposed] } } }), untold: '' }
    } catch (failed) {
      if (isFailure(failed, 'unsupported')) return { impact: null, untold: t.give.untold }
      throw failed
    }
  }

  async function give() {
    if (!reviewed) return
    setBusy(true)
    setError(null)
    try {
      const made = await call('POST /orgs/{org}/org/grants', { path: { org }, body: reviewed.input }, { key })
      setDone(made)
      say(t.give.done)
      void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
    } catch (failed) {
      setError(failed)
    }
    setBusy(false)
  }

  function again() {
    setKey(newKey())
    setReviewed(null)
    setDone(null)
    setError(null)
  }

  return (
    <Page title={t.give.title} lead={t.give.lead}>
      {error !== null && (
        <Failed of={error}>
          {isFailure(error) && error.unknown && <span>{t.give.unknown}</span>}
          {isFailure(error, 'escalation_refused') && <span>{t.give.refused((error.fields.missing as Array<{ key: string; scope: string }> | undefined) ?? [])}</span>}
        </Failed>
      )}
      {done ? (
        <Done org={org} made={done} onAgain={again} />
      ) : reviewed ? (
        <Review org={org} of={reviewed} busy={busy} onGive={() => void give()} onBack={again} />
      ) : (
        <form className="card form measure" onSubmit={e => void review(e)}>
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
          <div className="row"><Button kind="main" type="submit" busy={busy}>{t.give.review}</Button><Link className="button" to="/orgs/$org/grants" params={{ org }}>{t.cancel}</Link></div>
        </form>
      )}
    </Page>
  )
}

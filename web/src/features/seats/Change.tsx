import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { queries } from '../../api/queries.ts'
import type { Seat } from '../../api/schema.gen.ts'
import { seats as t } from '../../text/seats.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Name } from '../../ui/Id.tsx'
import { Plan, type Step } from '../../ui/Plan.tsx'
import { refusal } from '../../ui/Refusal.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useDraft } from '../../ui/useDraft.ts'
import { Versions } from '../../ui/Versions.tsx'
import { kinds } from './State.tsx'

const valuesOf = (s: Seat) => ({ kind: s.kind, displayName: s.displayName ?? '', email: s.email ?? '' })
const labels = { kind: t.kind, displayName: t.name, email: t.email }
type Member = keyof typeof labels

interface Props {
  org: string
  seat: Seat
  /** Why nothing of it can be changed, nothing but the name, and not its kind. */
  bar: string | null
  barRest: string | null
  barKind: string | null
  onOwner: boolean
}

/** Changes a seat from what it was when the form opened. */
export function Change({ org, seat, bar, barRest, barKind, onOwner }: Props) {
  const now = valuesOf(seat)
  const draft = useDraft(now, seat.etag)
  const { began, given, changed } = draft
  const [wrong, setWrong] = useState<string | null>(null)
  const [reviewing, setReviewing] = useState(false)
  function review(e: FormEvent) {
    e.preventDefault()
    if (changed.length === 0) return setWrong(t.nothing)
    if (changed.some(n => given[n].trim() === '')) return setWrong(t.kept)
    setReviewing(true)
  }
  async function change() {
    try {
      const { seat: next } = await call('PATCH /orgs/{org}/seats/{userId}', { path: { org, userId: seat.userId }, body: draft.body() }, { ifMatch: draft.etag })
      draft.stored(valuesOf(next), next.etag)
      setReviewing(false)
      say(t.changed)
    } catch (failed) {
      if (!isFailure(failed, 'precondition_failed')) throw failed
      setReviewing(false) // both versions are shown once it is read again
    } finally {
      await queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
    }
  }
  const steps: Step[] = changed.map(n => ({ sign: '→', text: n === 'kind' ? <><Name of={seat.userId} /> {t.rights(given.kind)}<span className="dim">, {t.was} {t.kinds[began.kind] ?? began.kind}</span></> : <>{labels[n]}: <strong><Name of={given[n].trim()} /></strong>{began[n] && <span className="dim">, {t.was} <Name of={began[n]} /></span>}</> }))
  const set = (n: Member, value: string) => (setWrong(null), draft.set(n, value))
  const told = (n: Member, v: ReturnType<typeof valuesOf>) => (n === 'kind' ? (t.kinds[v.kind] ?? v.kind) : v[n] ? <Name of={v[n]} /> : <span className="dim">{w.empty}</span>)
  return (
    <>
      <form className="card form" aria-label={t.change} onSubmit={review}>
        <h2>{t.change}</h2>
        {draft.torn && <Versions rows={draft.differ.map(n => ({ label: labels[n], theirs: told(n, now), mine: changed.includes(n) ? told(n, given) : <span className="dim">{t.asStored}</span> }))} onTheirs={draft.theirs} onMine={() => (draft.mine(), setReviewing(true))} />}
        <Field label={t.kind} hint={barKind ?? t.kindHints[given.kind]}>
          {a => <select {...a} value={given.kind} onChange={e => set('kind', e.target.value)} disabled={barKind !== null}>{kinds.map(k => <option key={k} value={k} disabled={k === 'owner' && !onOwner}>{t.kinds[k]}</option>)}</select>}
        </Field>
        <Field label={t.name}>{a => <input {...a} value={given.displayName} onChange={e => set('displayName', e.target.value)} maxLength={200} disabled={bar !== null} />}</Field>
        <Field label={t.email} hint={barRest}>{a => <input {...a} type="email" value={given.email} onChange={e => set('email', e.target.value)} disabled={barRest !== null} />}</Field>
        <div className="row"><Button type="submit" reason={bar}>{t.review}</Button>{wrong && <p className="wrong" role="alert">{wrong}</p>}</div>
      </form>
      {reviewing && !draft.torn && (
        <Sure title={t.reviewTitle} submit={t.submit} onSure={change} onEnd={() => setReviewing(false)} about={refusal}>
          <Plan steps={steps} />
          {changed.includes('kind') && <p>{t.reaches(given.kind)}</p>}
        </Sure>
      )}
    </>
  )
}

import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { holds } from '../../api/gates.ts'
import { queries, useAsk, useMe } from '../../api/queries.ts'
import type { Org } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { settings as t } from '../../text/settings.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Name } from '../../ui/Id.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { refusal } from '../../ui/Refusal.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useDraft } from '../../ui/useDraft.ts'
import { Versions } from '../../ui/Versions.tsx'

const valuesOf = (o: Org) => ({ name: o.name, primaryApplication: o.primaryApplication ?? '' })
const labels = { name: t.name, primaryApplication: t.primary }

/** Changes the org from what it was when the form opened. */
export function Change({ of, mayChange }: { of: Org; mayChange: boolean }) {
  const me = useMe()
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org: of.id }, query: { limit: 200 } }, { on: holds(me.data, 'cloud.applications.read') === 'yes' })
  const now = valuesOf(of)
  const draft = useDraft(now, of.etag)
  const { began, given, changed } = draft
  const [wrong, setWrong] = useState<string | null>(null)
  const [reviewing, setReviewing] = useState(false)
  function review(e: FormEvent) {
    e.preventDefault()
    if (changed.length === 0) return setWrong(t.nothing)
    if (given.name.trim() === '') return setWrong(t.needed)
    setReviewing(true)
  }
  async function change() {
    try {
      const { org } = await call('PATCH /orgs/{org}', { path: { org: of.id }, body: draft.body() }, { ifMatch: draft.etag })
      draft.stored(valuesOf(org), org.etag)
      setReviewing(false)
      say(t.changed)
    } catch (failed) {
      if (!isFailure(failed, 'precondition_failed')) throw failed
      setReviewing(false) // both versions are shown once it is read again
    } finally {
      await queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
    }
  }
  const set = (n: keyof typeof labels, value: string) => (setWrong(null), draft.set(n, value))
  const told = (text: string) => (text ? <Name of={text} /> : <span className="dim">{t.none}</span>)
  const reason = mayChange ? null : t.ownersOnly
  const list = apps.data?.applications ?? []
  return (
    <>
      <form className="card form" aria-label={t.title} onSubmit={review}>
        {draft.torn && <Versions rows={draft.differ.map(n => ({ label: labels[n], theirs: told(now[n]), mine: changed.includes(n) ? told(given[n]) : <span className="dim">{t.asStored}</span> }))} onTheirs={draft.theirs} onMine={() => (draft.mine(), setReviewing(true))} />}
        <Field label={t.name} hint={reason}>{a => <input {...a} value={given.name} onChange={e => set('name', e.target.value)} maxLength={200} disabled={!mayChange} />}</Field>
        <Field label={t.primary} hint={of.mode === 'federated' ? t.federated : t.primaryHint}>
          {a => (
            <select {...a} value={given.primaryApplication} onChange={e => set('primaryApplication', e.target.value)} disabled={!mayChange || of.mode === 'federated'}>
              {!began.primaryApplication && <option value="">{t.none}</option>}
              {list.map(app => <option key={app.id} value={app.id}>{visible(app.name)}</option>)}
              {began.primaryApplication && !list.some(app => app.id === began.primaryApplication) && <option value={began.primaryApplication}>{visible(began.primaryApplication)}</option>}
            </select>
          )}
        </Field>
        <div className="row"><Button type="submit" reason={reason}>{t.review}</Button>{wrong && <p className="wrong" role="alert">{wrong}</p>}</div>
      </form>
      {reviewing && !draft.torn && (
        <Sure title={t.reviewTitle} submit={t.submit} onSure={change} onEnd={() => setReviewing(false)} about={refusal}>
          <Plan steps={changed.map(n => ({ sign: '→', text: <>{labels[n]}: <strong><Name of={given[n].trim()} /></strong><span className="dim">, {t.was} </span>{told(began[n])}</> }))} />
          {changed.includes('name') && <p className="dim">{t.reaches}</p>}
          {changed.includes('primaryApplication') && <p>{t.reachesPrimary}</p>}
        </Sure>
      )}
    </>
  )
}

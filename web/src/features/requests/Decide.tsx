import { useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { useOnce } from '../../api/once.ts'
import { useAsk } from '../../api/queries.ts'
import type { Request } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Name, Time } from '../../ui/Id.tsx'
import { Failed, Loaded } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Facts, Given, State } from './Facts.tsx'

interface Props {
  org: string
  id: string
  application: string | undefined
  onClose: () => void
  onDecided: () => void
}

/** One request: what would be given, to whom, until when, and the decision. */
export function Decide({ org, id, application, onClose, onDecided }: Props) {
  const one = useAsk('GET /orgs/{org}/requests/{id}', { path: { org, id }, query: application ? { application } : {} })
  return (
    <aside className="card stack" aria-label={t.inbox.one} onKeyDown={e => e.key === 'Escape' && onClose()}>
      <header className="row far"><h2>{t.inbox.one}</h2><Button small kind="bare" label={t.close} onPress={onClose}>×</Button></header>
      <Loaded of={one}>
        {({ request: r, mayDecide }) => (
          <div className="stack">
            <Facts org={org} request={r} />
            <Given patterns={r.pattern ? [r.pattern] : null} org={org} roleId={r.roleId ?? ''} />
            {r.decisions.length > 0 && (
              <div><h3>{t.inbox.decided}</h3><ul className="list">{r.decisions.map((d, i) => <li key={i}><span><span className={d.decision === 'approved' ? 'tag yes' : 'tag no'}>{t.requests.states[d.decision] ?? d.decision}</span> <Name of={d.decidedBy} />{d.note && <> – <Name of={d.note} /></>}</span><span className="small dim"><Time at={d.at} /></span></li>)}</ul></div>
            )}
            {r.state === 'pending' && (mayDecide ? <Decision org={org} request={r} application={application} onDecided={onDecided} onConflict={() => void one.refetch()} /> : <p className="dim">{t.inbox.notYours}</p>)}
            {r.state !== 'pending' && <p><State of={r.state} /></p>}
          </div>
        )}
      </Loaded>
    </aside>
  )
}

/** The form in which a request is approved or denied. */
export function Decision({ org, request: r, application, onDecided, onConflict }: { org: string; request: Request; application: string | undefined; onDecided: () => void; onConflict: () => void }) {
  const once = useOnce()
  const [decision, setDecision] = useState<'approved' | 'denied' | null>(null)
  const [note, setNote] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  async function send() {
    if (!decision) return
    setBusy(true)
    setError(null)
    try {
      const body = { decision, ...(note.trim() ? { note: note.trim() } : {}), ...(application ? { application } : {}) }
      const told = await once(body, key => call('POST /orgs/{org}/requests/{id}/decide', { path: { org, id: r.id }, body }, { key }))
      say(t.inbox.told(decision, told.request.state, visible(r.requesterUserId), note.trim() !== ''))
      onDecided()
    } catch (failed) {
      setError(failed)
      if (isFailure(failed, 'conflict', 'invalid_transition')) onConflict()
    }
    setBusy(false)
  }
  return (
    <form className="form" onSubmit={e => (e.preventDefault(), void send())}>
      {error !== null && <Failed of={error} />}
      <fieldset className="choice">
        <legend className="label">{t.inbox.decision}</legend>
        <label><input type="radio" name="decision" checked={decision === 'approved'} onChange={() => setDecision('approved')} /> {t.inbox.approve}</label>
        <label><input type="radio" name="decision" checked={decision === 'denied'} onChange={() => setDecision('denied')} /> {t.inbox.deny}</label>
      </fieldset>
      <Field label={t.inbox.note}>{a => <textarea {...a} value={note} onChange={e => setNote(e.target.value)} maxLength={2000} />}</Field>
      {decision === null && <p className="small dim">{t.inbox.chooseFirst}</p>}
      <Button kind={decision === 'denied' ? 'danger main' : 'main'} type="submit" busy={busy} reason={decision ? null : t.inbox.chooseFirst}>{decision === 'denied' ? t.inbox.denyNow : t.inbox.approveNow}</Button>
    </form>
  )
}

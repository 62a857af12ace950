import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { useMe } from '../../api/queries.ts'
import type { Application } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { apps } from '../../text/applications.ts'
import { Button } from '../../ui/Button.tsx'
import { Id } from '../../ui/Id.tsx'
import { say } from '../../ui/Toasts.tsx'
import { reread } from './Overview.tsx'
import { Review } from './Review.tsx'

interface Props {
  org: string
  of: Application
  onBack: () => void
}

/** Forgets where it is and its secret. */
export function Unlink({ org, of: a, onBack }: Props) {
  const words = apps.unlinking
  const me = useMe()
  const root = me.data?.orgRoot.application === a.id
  async function unlink(key: string) {
    await call('POST /orgs/{org}/applications/{app}/unlink', { path: { org, app: a.id } }, { key })
    say(words.done)
    onBack()
    await reread()
  }
  return (
    <Review
      title={words.title(visible(a.name))} submit={words.submit} danger typed={a.id} onSure={unlink} onBack={onBack}
      steps={[{ sign: '−', text: words.forgets }, { sign: '→', text: words.stops }, ...(root ? [{ sign: '→' as const, text: words.root }] : [])]}
    />
  )
}

/** Ends the entry, as it was read: what somebody changed meanwhile is shown first. */
export function Delete({ org, of: a, onBack }: Props) {
  const words = apps.deleting
  const navigate = useNavigate()
  const [seen, setSeen] = useState(a) // what the reader has reviewed
  async function remove() {
    try {
      await call('DELETE /orgs/{org}/applications/{app}', { path: { org, app: a.id } }, { ifMatch: seen.etag })
    } catch (failed) {
      if (isFailure(failed, 'precondition_failed')) await reread() // to show what it is now
      throw failed
    }
    say(words.done)
    await navigate({ to: '/orgs/$org/applications', params: { org } })
    await reread()
  }
  return (
    <Review
      title={words.title(visible(a.name))} submit={words.submit} danger typed={a.id} onSure={remove} onBack={onBack}
      steps={[
        { sign: '−', text: <>{words.entry} <Id of={seen.id} /></> },
        ...(seen.relayUrl ? [{ sign: '−' as const, text: <>{words.link} <Id of={seen.relayUrl} /></> }] : []),
        ...seen.namespaces.map(n => ({ sign: '−' as const, text: <>{words.claims} <Id of={n} /></> })),
        { sign: '−', text: words.keys }, { sign: '−', text: words.rows }, { sign: '→', text: <>{words.stays} <span className="dim">{apps.review.stays}</span></> },
      ]}
      about={failed => isFailure(failed, 'precondition_failed') && (
        <div className="stack close">
          <p>{apps.review.moved}</p>
          <Versions seen={seen} now={a} />
          <div className="row"><Button small onPress={() => setSeen(a)}>{apps.review.again}</Button></div>
        </div>
      )}
    />
  )
}

/** The entry as it was seen, beside what it is now. */
function Versions({ seen, now }: { seen: Application; now: Application }) {
  const facts = (a: Application): Array<[string, string]> => [[apps.overview.state, apps.states[a.state] ?? a.state], [apps.overview.address, a.relayUrl ?? '–'], [apps.overview.hint, a.secretHint ?? '–'], [apps.overview.retained, String(a.auditOptIn)]]
  return (
    <div className="columns">
      {([[apps.review.yours, seen], [apps.review.theirs, now]] as const).map(([title, a]) => (
        <div key={title}><h3>{title}</h3><dl className="facts">{facts(a).map(([k, v]) => <div className="pair" key={k}><dt>{k}</dt><dd><Id of={v} /></dd></div>)}</dl></div>
      ))}
    </div>
  )
}

/** Begins or ends the copying of its audit log. */
export function OptIn({ org, of: a, onBack }: Props) {
  const words = apps.opting
  const optIn = !a.auditOptIn
  async function opt(key: string) {
    await call('POST /orgs/{org}/applications/{app}/audit-optin', { path: { org, app: a.id }, body: { optIn } }, { key })
    say(words.done)
    onBack()
    await reread()
  }
  return <Review title={optIn ? words.on : words.off} submit={optIn ? words.onNow : words.offNow} onSure={opt} onBack={onBack} steps={[{ sign: optIn ? '+' : '−', text: optIn ? words.copies : words.ends }]} />
}

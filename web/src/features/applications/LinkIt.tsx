import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import type { Application, Linked } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Id } from '../../ui/Id.tsx'
import type { Step } from '../../ui/Plan.tsx'
import { Secret } from '../../ui/Secret.tsx'
import { say } from '../../ui/Toasts.tsx'
import { reread } from './Overview.tsx'
import { Review } from './Review.tsx'

const words = apps.linking

/** Links an application, or links it again, which is how its secret is replaced. */
export function LinkIt({ org, of: a, onBack, onLinked }: { org: string; of: Application; onBack: () => void; onLinked: (made: Linked) => void }) {
  const [address, setAddress] = useState(a.relayUrl ?? '')
  const [wrong, setWrong] = useState<string | null>(null)
  const [reviewed, setReviewed] = useState(false)
  const again = a.state !== 'registered'
  const title = (again ? words.again : words.title)(visible(a.name))
  const relayUrl = address.trim()
  const local = relayUrl.startsWith('local:')
  function review(e: FormEvent) {
    e.preventDefault()
    if (!/^(https:\/\/|http:\/\/|local:)./.test(relayUrl)) return setWrong(words.wrong)
    setReviewed(true)
  }
  async function link(key: string) {
    const made = await call('POST /orgs/{org}/applications/{app}/link', { path: { org, app: a.id }, body: { relayUrl } }, { key })
    say(words.done)
    onLinked(made)
    await reread()
  }
  if (!reviewed) {
    return (
      <section className="card stack" aria-label={title}>
        <header><h2>{title}</h2></header>
        {again && <p className="dim">{words.same}</p>}
        <form className="form measure" onSubmit={review}>
          <Field label={words.address} hint={words.hint} wrong={wrong}>{at => <input {...at} className="mono" autoFocus value={address} onChange={e => (setWrong(null), setAddress(e.target.value))} required maxLength={2048} autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field>
          <div className="row"><Button kind="main" type="submit">{words.review}</Button><Button onPress={onBack}>{t.cancel}</Button></div>
        </form>
      </section>
    )
  }
  const steps: Step[] = [
    { sign: '+', text: <><Id of={a.id} /> {words.links} <Id of={relayUrl} /></> },
    ...(again && a.relayUrl !== relayUrl ? [{ sign: '−' as const, text: <><Id of={a.id} /> {words.links} <Id of={a.relayUrl ?? ''} /></> }] : []),
    ...(a.secretHint ? [{ sign: '−' as const, text: <>{words.ends} <Id of={a.secretHint} /></> }] : []),
    { sign: local ? '→' : '+', text: local ? words.without : words.makes },
  ]
  return <Review title={title} steps={steps} submit={words.submit} onSure={link} onBack={() => setReviewed(false)} />
}

/** The secret of a link that was just made, until the reader has put it away. */
export function Told({ of, onKept }: { of: Linked; onKept: () => void }) {
  if (!of.secretWithheld && of.providerSecret === null) return null // an application of this host
  return (
    <div className="stack close">
      {of.secretWithheld ? <div className="note mind" role="status"><p>{words.withheld}</p></div> : <Secret title={words.secretTitle} of={of.providerSecret} />}
      <div className="note row far"><p>{words.secretHint}</p><Button onPress={onKept}>{words.kept}</Button></div>
    </div>
  )
}

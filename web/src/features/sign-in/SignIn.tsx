import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { isFailure } from '../../api/errors.ts'
import { useAsk } from '../../api/queries.ts'
import { signIn } from '../../api/signing.ts'
import { url } from '../../api/call.ts'
import { orgOf, returning } from '../../domain/returning.ts'
import icon from '../../icon.svg'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Failed, Loaded } from '../../ui/States.tsx'

// Refusals of a proof. All of them read alike: which one it was is no stranger's business.
const refusals = ['sign_in_failed', 'seat_required', 'cap_reached']

export function SignIn() {
  const search = useSearch({ from: '/sign-in' })
  const methods = useAsk('GET /auth/methods', {})
  const back = returning(search.returnTo)
  const [org, setOrg] = useState(search.org ?? orgOf(back))
  useEffect(() => {
    document.title = `${t.signIn.title} · authz`
  }, [])
  const kinds = methods.data?.methods.map(m => m.kind) ?? []
  const oidc = kinds.includes('oidc')
  return (
    <div className="alone">
      <main>
        <div className="row"><img className="mark" src={icon} alt="" /><h1>{t.signIn.title}</h1></div>
        {back && back !== '/dashboard/' && <p className="dim">{t.signIn.back}</p>}
        {search.problem && <Problem request={search.request} />}
        <Loaded of={methods}>
          {() => (
            <div className="card stack">
              {kinds.length === 0 && <p>{t.signIn.none}</p>}
              {oidc && <Provider org={org} setOrg={setOrg} back={back} />}
              {kinds.includes('bootstrap') &&
                (oidc ? (
                  <details open={false}><summary>{t.signIn.otherwise}</summary><Bootstrap org={org} setOrg={setOrg} back={back} /></details>
                ) : (
                  <Bootstrap org={org} setOrg={setOrg} back={back} />
                ))}
            </div>
          )}
        </Loaded>
      </main>
    </div>
  )
}

function Problem({ request }: { request?: string }) {
  return (
    <div className="note no" role="alert">
      <div>
        <p><strong>{t.signIn.failed}</strong></p>
        <p className="dim">{t.signIn.failedHint}</p>
        {request && <p className="small dim">{t.state.request} <code>{request.slice(0, 64)}</code></p>}
      </div>
    </div>
  )
}

interface Part {
  org: string
  setOrg: (org: string) => void
  back: string | undefined
}

/** Leaves for the provider, which sends the browser back to where it was going. */
function Provider({ org, setOrg, back }: Part) {
  function start(e: FormEvent) {
    e.preventDefault()
    window.location.assign(url('GET /auth/oidc/start', { query: { org: org.trim(), returnTo: back ?? '/dashboard/' } }))
  }
  return (
    <form className="form" onSubmit={start}>
      <Field label={t.signIn.org} hint={t.signIn.orgHint}>
        {a => <input {...a} value={org} onChange={e => setOrg(e.target.value)} autoComplete="organization" autoCapitalize="none" spellCheck={false} maxLength={64} />}
      </Field>
      <Button kind="main" type="submit" wide>{t.signIn.provider}</Button>
    </form>
  )
}

function Bootstrap({ org, setOrg, back }: Part) {
  const navigate = useNavigate()
  const router = useRouter()
  const [userId, setUserId] = useState('')
  const [secret, setSecret] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  async function submit(e: FormEvent) {
    e.preventDefault()
    setBusy(true)
    try {
      await signIn(org.trim(), userId.trim(), secret)
      setSecret('')
      if (back) router.history.push(back)
      else await navigate({ to: '/', replace: true })
    } catch (failed) {
      setError(failed)
    }
    setBusy(false)
  }
  return (
    <form className="form" onSubmit={submit}>
      {error !== null && (isFailure(error, ...refusals) ? <Problem request={error.requestId} /> : <Failed of={error} />)}
      <Field label={t.signIn.org} hint={t.signIn.orgHint}>
        {a => <input {...a} value={org} onChange={e => setOrg(e.target.value)} autoComplete="organization" autoCapitalize="none" spellCheck={false} maxLength={64} />}
      </Field>
      <Field label={t.signIn.user}>
        {a => <input {...a} value={userId} onChange={e => setUserId(e.target.value)} autoComplete="username" autoCapitalize="none" spellCheck={false} required maxLength={256} />}
      </Field>
      <Field label={t.signIn.secret} hint={t.signIn.secretHint}>
        {a => <input {...a} type="password" value={secret} onChange={e => setSecret(e.target.value)} autoComplete="current-password" required />}
      </Field>
      <Button kind="main" type="submit" wide busy={busy}>{t.signIn.submit}</Button>
    </form>
  )
}

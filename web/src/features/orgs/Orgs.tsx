import { Link, Navigate, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { call } from '../../api/call.ts'
import { useOnce } from '../../api/once.ts'
import { queries, useAsk, useSession } from '../../api/queries.ts'
import { signOut } from '../../api/signing.ts'
import icon from '../../icon.svg'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Failed, Loaded } from '../../ui/States.tsx'

export function Orgs() {
  const { all } = useSearch({ from: '/signed-in/' })
  const orgs = useAsk('GET /orgs', { query: { limit: 1000 } })
  const session = useSession()
  const navigate = useNavigate()
  useEffect(() => {
    document.title = `${t.orgs.title} · authz`
  }, [])
  async function leave() {
    await signOut()
    await navigate({ to: '/sign-in' })
  }
  const active = orgs.data?.orgs.filter(o => o.seat.state === 'active') ?? []
  if (!all && active.length === 1) return <Navigate to="/orgs/$org" params={{ org: active[0]!.id }} replace />
  return (
    <div className="alone wide">
      <main>
        <div className="row far">
          <div className="row"><img className="mark" src={icon} alt="" /><h1>{t.orgs.title}</h1></div>
          <Button kind="bare" onPress={() => void leave()}>{t.shell.signOut}</Button>
        </div>
        <Loaded of={orgs}>
          {({ orgs: list }) => (
            <>
              {list.length > 0 && (
                <ul className="card list">
                  {list.map(o => (
                    <li key={o.id}>
                      <span className="grow">
                        {o.seat.state === 'active' ? <Link to="/orgs/$org" params={{ org: o.id }}><Name of={o.name} /></Link> : <Name of={o.name} />} <Id of={o.id} />
                      </span>
                      {o.seat.state === 'active' ? <span className="tag">{t.seatKinds[o.seat.kind] ?? o.seat.kind}</span> : <span className="tag mind">{t.orgs.invited}</span>}
                    </li>
                  ))}
                </ul>
              )}
              {list.length === 0 && (session.data && !session.data.session.org ? <First userId={session.data.session.userId} /> : <div className="card stack close"><h2>{t.orgs.none}</h2><p className="dim">{t.orgs.noneHint(session.data?.session.userId ?? '')}</p></div>)}
            </>
          )}
        </Loaded>
      </main>
    </div>
  )
}

/** Makes the first org, whose owner its maker is. */
function First({ userId }: { userId: string }) {
  const navigate = useNavigate()
  const once = useOnce()
  const [name, setName] = useState('')
  const [id, setId] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  async function submit(e: FormEvent) {
    e.preventDefault()
    setBusy(true)
    try {
      const body = { name: name.trim(), ...(id.trim() ? { id: id.trim() } : {}), ownerUserId: userId }
      const made = await once(body, key => call('POST /orgs', { body }, { key }))
      await queries.invalidateQueries()
      await navigate({ to: '/orgs/$org', params: { org: made.org.id } })
    } catch (failed) {
      setError(failed)
      setBusy(false)
    }
  }
  return (
    <form className="card form" onSubmit={submit}>
      <div><h2>{t.orgs.first}</h2><p className="dim">{t.orgs.firstHint}</p></div>
      {error !== null && <Failed of={error} />}
      <Field label={t.orgs.name}>{a => <input {...a} value={name} onChange={e => setName(e.target.value)} required maxLength={200} />}</Field>
      <Field label={t.orgs.id} hint={t.orgs.idHint}>{a => <input {...a} className="mono" value={id} onChange={e => setId(e.target.value)} pattern="[a-z0-9][a-z0-9\-]{1,56}" autoCapitalize="none" spellCheck={false} />}</Field>
      <div><Button kind="main" type="submit" busy={busy}>{t.orgs.make}</Button></div>
    </form>
  )
}

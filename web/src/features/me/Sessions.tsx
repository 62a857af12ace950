import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { call } from '../../api/call.ts'
import { useAsk } from '../../api/queries.ts'
import icon from '../../icon.svg'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Name, Time } from '../../ui/Id.tsx'
import { Failed, Loaded } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'

/** Where the reader is signed in, and an end to what is not theirs. */
export function Sessions() {
  const sessions = useAsk('GET /auth/sessions', { query: { limit: 100 } })
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    document.title = `${t.me.title} · authz`
  }, [])
  async function end(id: string) {
    setError(null)
    try {
      await call('DELETE /auth/sessions/{id}', { path: { id } })
      say(t.me.ended)
    } catch (failed) {
      setError(failed)
    }
    await sessions.refetch()
  }
  return (
    <div className="alone wide">
      <main>
        <div className="row far"><div className="row"><img className="mark" src={icon} alt="" /><h1>{t.me.title}</h1></div><Link className="button" to="/">{t.me.back}</Link></div>
        <p className="dim">{t.me.lead}</p>
        {error !== null && <Failed of={error} />}
        <Loaded of={sessions}>
          {({ sessions: list }) => (
            <ul className="card list">
              {list.map(s => (
                <li key={s.id}>
                  <span className="grow">
                    <Name of={s.userAgent || s.clientAddress} /><br />
                    <span className="small dim">{s.clientAddress} · {t.me.by(s.authMethod)} · {t.me.since} <Time at={s.createdAt} /> · {t.me.seen} <Time at={s.lastSeenAt} /></span>
                  </span>
                  {s.current ? <span className="tag yes">{t.me.current}</span> : <Button small kind="danger" onPress={() => void end(s.id)}>{t.me.end}</Button>}
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      </main>
    </div>
  )
}

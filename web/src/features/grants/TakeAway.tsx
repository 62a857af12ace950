import { useEffect, useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import type { Grant, Impact } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, ScopeName, SubjectName } from '../../ui/Id.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'

interface Props {
  org: string
  grants: Grant[]
  /** The application whose rows they are, "" of those everywhere. */
  home: string
  onSure: () => Promise<void>
  onBack: () => void
}

const most = 50

/** What would be lost with grants, as the host tells it, before they are taken away. */
export function TakeAway({ org, grants, home, onSure, onBack }: Props) {
  const [impact, setImpact] = useState<Impact | 'untold' | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const ids = grants.map(g => g.id)
  useEffect(() => {
    const end = new AbortController()
    call('POST /orgs/{org}/org/plan', { path: { org }, body: { ...(home ? { application: home } : {}), without: ids } }, { signal: end.signal }).then(setImpact, failed => {
      if (end.signal.aborted) return
      // Rows of the service itself are in no application's plan.
      if (isFailure(failed, 'unsupported', 'not_found', 'no_org_root')) setImpact('untold')
      else setError(failed)
    })
    return () => end.abort()
  }, [ids.join(' ')])
  async function sure() {
    setBusy(true)
    setError(null)
    try {
      await onSure()
    } catch (failed) {
      setError(failed)
      setBusy(false)
    }
  }
  const lost = impact && impact !== 'untold' ? impact.changes.filter(c => !c.allowed) : []
  const people = new Set(lost.map(c => c.subject)).size
  return (
    <div className="stack close">
      <h3>{t.grants.removeTitle(grants.length)}</h3>
      <div className="bounded">
        <Plan steps={grants.slice(0, most).map(g => ({ sign: '−', text: <>{g.roleId ? <>{t.explain.role} <Name of={g.roleId} /></> : <Id of={g.pattern ?? ''} />} {t.explain.to} <SubjectName of={g.subject} /> {t.explain.at} <ScopeName of={g.scope} /></> }))} />
      </div>
      {grants.length > most && <p className="small dim">{t.explain.first(most)}</p>}
      {impact === null && error === null && <Waiting lines={2} />}
      {impact === 'untold' && <p className="dim">{t.give.untold}</p>}
      {impact && impact !== 'untold' && (
        <>
          <p><strong>{lost.length ? t.grants.loses(people, lost.length, impact.more ?? false) : t.grants.losesNothing}</strong></p>
          {(impact.unknown?.length ?? 0) > 0 && <p className="dim">{t.give.unlisted(impact.unknown!.join(', '))}</p>}
          <ul className="list bounded">{lost.slice(0, most).map(c => <li key={`${c.subject} ${c.key} ${c.scope}`}><span className="grow"><SubjectName of={c.subject} /> <Id of={c.key} /></span><span className="dim"><ScopeName of={c.scope} /></span></li>)}</ul>
          {lost.length > most && <p className="small dim">{t.explain.first(most)}</p>}
        </>
      )}
      {error !== null && <Failed of={error} />}
      <div className="row"><Button kind="danger main" busy={busy || impact === null} onPress={() => void sure()}>{t.grants.removeNow}</Button><Button onPress={onBack}>{t.cancel}</Button></div>
    </div>
  )
}

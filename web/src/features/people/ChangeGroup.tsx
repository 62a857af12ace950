import { useEffect, useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { queries } from '../../api/queries.ts'
import type { Impact, OneUser } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, ScopeName } from '../../ui/Id.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'

const most = 50

/** One membership more or less: what it changes for the person, and then it is done. */
export function ChangeGroup({ org, user, groupId, join, onEnd }: { org: string; user: OneUser; groupId: string; join: boolean; onEnd: () => void }) {
  const [impact, setImpact] = useState<Impact | 'untold' | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const end = new AbortController()
    const groupIds = join ? [...user.groupIds, groupId] : user.groupIds.filter(g => g !== groupId)
    call('POST /orgs/{org}/org/plan', { path: { org }, body: { with: { members: [{ userId: user.userId, groupIds }] } } }, { signal: end.signal }).then(setImpact, failed => {
      if (end.signal.aborted) return
      if (isFailure(failed, 'unsupported')) setImpact('untold')
      else setError(failed)
    })
    return () => end.abort()
  }, [groupId, join])
  async function sure() {
    setBusy(true)
    setError(null)
    const path = { org, id: user.userId, groupId }
    try {
      // Only this membership, whatever another administrator changes beside it.
      await (join ? call('PUT /orgs/{org}/org/users/{id}/groups/{groupId}', { path }) : call('DELETE /orgs/{org}/org/users/{id}/groups/{groupId}', { path }))
      say(join ? t.person.joined : t.person.left)
      onEnd()
      await queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
    } catch (failed) {
      setError(failed)
      setBusy(false)
    }
  }
  const changes = impact && impact !== 'untold' ? impact.changes.filter(c => c.allowed === join) : []
  return (
    <section className="card stack close" aria-label={t.give.reviewTitle}>
      <header><h2>{t.give.reviewTitle}</h2></header>
      <Plan steps={[{ sign: join ? '+' : '−', text: <><Name of={user.userId} /> {join ? t.person.joins : t.person.leaves} <Id of={groupId} /></> }]} />
      {impact === null && error === null && <Waiting lines={2} />}
      {impact === 'untold' && <p className="dim">{t.give.untold}</p>}
      {impact && impact !== 'untold' && (
        <>
          <p><strong>{changes.length === 0 ? t.grants.losesNothing : join ? t.give.reach(1, changes.length, impact.more ?? false) : t.grants.loses(1, changes.length, impact.more ?? false)}</strong></p>
          <ul className="list bounded">{changes.slice(0, most).map(c => <li key={`${c.key} ${c.scope}`}><Id of={c.key} /><span className="dim"><ScopeName of={c.scope} /></span></li>)}</ul>
          {changes.length > most && <p className="small dim">{t.explain.first(most)}</p>}
        </>
      )}
      {error !== null && <Failed of={error} />}
      <div className="row"><Button kind={join ? 'main' : 'danger main'} busy={busy || impact === null} onPress={() => void sure()}>{join ? t.person.add : t.person.remove}</Button><Button onPress={onEnd}>{t.cancel}</Button></div>
    </section>
  )
}

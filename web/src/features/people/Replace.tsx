import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useAsk } from '../../api/queries.ts'
import type { OneUser } from '../../api/schema.gen.ts'
import { beyond } from '../../domain/plans.ts'
import { p } from '../../text/people.ts'
import { t } from '../../text/en.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Several } from '../../ui/Several.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useDebounced } from '../../ui/useDebounced.ts'
import { Versions } from '../../ui/Versions.tsx'

const lines = (groups: string[]) => [...groups].sort().join('\n')

/** All direct groups of a person as one list, which replaces the one that it began from and no other. */
export function Replace({ org, user, onEnd }: { org: string; user: OneUser; onEnd: () => void }) {
  const [base, setBase] = useState(user)
  const [groupIds, setGroupIds] = useState(user.groupIds)
  const [review, setReview] = useState(false)
  const [text, setText] = useState('')
  const q = useDebounced(text.trim())
  const found = useAsk('GET /orgs/{org}/org/groups', { path: { org }, query: { q, limit: 8 } }, { on: q !== '', keep: true })
  const moved = user.etag !== base.etag && lines(user.groupIds) !== lines(base.groupIds)
  if (user.etag !== base.etag && !moved) setBase(user) // the list is as it was
  const same = lines(groupIds) === lines(base.groupIds)
  const effects = useEffects(review && !moved ? { with: { members: [{ userId: user.userId, groupIds }] } } : null)
  async function store() {
    try {
      await call('PUT /orgs/{org}/org/users/{id}/membership', { path: { org, id: user.userId }, body: { groupIds } }, { ifMatch: base.etag })
      say(p.stored)
      onEnd()
    } finally {
      void readAnew() // also after a refusal: both versions are shown then
    }
  }
  return (
    <form className="card form" aria-label={p.replaceTitle} onSubmit={e => (e.preventDefault(), setReview(true))}>
      {moved && (
        <Versions
          rows={[{ label: p.groups, theirs: <Name of={user.groupIds.join(', ') || w.empty} />, mine: <Name of={groupIds.join(', ') || w.empty} /> }]}
          onTheirs={() => (setBase(user), setGroupIds(user.groupIds), setReview(false))} onMine={() => (setBase(user), setReview(true))}
        />
      )}
      <Several label={p.groups} hint={p.groupsHint} value={groupIds} onChange={setGroupIds} onType={setText} choices={(found.data?.groups ?? []).map(g => ({ id: g.id, note: g.name }))} />
      <div className="row"><Button kind="main" type="submit" reason={moved ? w.meanwhile : same ? w.unchanged : null}>{w.review}</Button><Button onPress={onEnd}>{t.cancel}</Button></div>
      {review && !moved && (
        <Sure title={w.title} submit={p.store} reason={untilTold(effects)} onSure={store} onEnd={() => setReview(false)}>
          <Plan
            steps={[
              ...beyond(groupIds, base.groupIds).map(g => ({ sign: '+' as const, text: <><Name of={user.userId} /> {t.person.joins} <Id of={g} /></> })),
              ...beyond(base.groupIds, groupIds).map(g => ({ sign: '−' as const, text: <><Name of={user.userId} /> {t.person.leaves} <Id of={g} /></> })),
            ]}
          />
          <p className="dim">{w.root}</p>
          <Impact of={effects} />
        </Sure>
      )}
    </form>
  )
}

import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew } from '../../api/queries.ts'
import type { OneUser } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { w } from '../../text/writes.ts'
import { Id, Name } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'

/** One membership more or less: what it changes for the person, and then it is done. */
export function ChangeGroup({ org, user, groupId, join, onEnd }: { org: string; user: OneUser; groupId: string; join: boolean; onEnd: () => void }) {
  const [groupIds] = useState(join ? [...user.groupIds, groupId] : user.groupIds.filter(g => g !== groupId))
  const effects = useEffects({ with: { members: [{ userId: user.userId, groupIds }] } })
  async function change() {
    const path = { org, id: user.userId, groupId }
    // Only this membership, whatever another administrator changes beside it.
    await (join ? call('PUT /orgs/{org}/org/users/{id}/groups/{groupId}', { path }) : call('DELETE /orgs/{org}/org/users/{id}/groups/{groupId}', { path }))
    say(join ? t.person.joined : t.person.left)
    onEnd()
    await readAnew()
  }
  return (
    <Sure title={w.title} danger={!join} submit={join ? t.person.add : t.person.remove} reason={untilTold(effects)} onSure={change} onEnd={onEnd}>
      <Plan steps={[{ sign: join ? '+' : '−', text: <><Name of={user.userId} /> {join ? t.person.joins : t.person.leaves} <Id of={groupId} /></> }]} />
      <p className="dim">{w.root}</p>
      <Impact of={effects} />
    </Sure>
  )
}

import { useState } from 'react'
import { holds } from '../../api/gates.ts'
import { useAsk, useMe } from '../../api/queries.ts'
import type { OneUser } from '../../api/schema.gen.ts'
import { p } from '../../text/people.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { SubjectLink } from '../../ui/Id.tsx'
import { Loaded } from '../../ui/States.tsx'
import { useDebounced } from '../../ui/useDebounced.ts'
import { ChangeGroup } from './ChangeGroup.tsx'
import { Replace } from './Replace.tsx'

const key = 'authz_internal.access.manage_groups'

/** Whom somebody belongs to: what is stored of them, and what follows from it. */
export function Memberships({ org, user }: { org: string; user: OneUser }) {
  const supply = useAsk('GET /orgs/{org}/org/subject-access', { path: { org }, query: { userId: user.userId } })
  const me = useMe()
  const [change, setChange] = useState<{ groupId: string; join: boolean } | null>(null)
  const [all, setAll] = useState(false)
  const direct = user.groupIds.map(g => 'group:' + g)
  const may = holds(me.data, key) === 'yes' ? null : t.needs(key)
  return (
    <>
      {change && <ChangeGroup key={`${change.groupId} ${change.join}`} org={org} user={user} {...change} onEnd={() => setChange(null)} />}
      <Loaded of={supply}>
        {({ closure, managerChain }) => {
          const lists: Array<[string, string, string[]]> = [
            [t.person.reached, t.person.reachedHint, closure.filter(s => s.startsWith('group:') && !direct.includes(s))],
            [t.person.orgs, t.person.orgsHint, user.orgIds.map(o => 'org:' + o)],
            [t.person.line, t.person.lineHint, managerChain.map(m => 'user:' + m)],
          ]
          return (
            <div className="columns">
              {all ? <Replace org={org} user={user} onEnd={() => setAll(false)} /> : (
                <section className="card stack close">
                  <header className="row far"><h2>{t.person.direct}</h2><span className="small dim">{direct.length}</span></header>
                  {direct.length ? (
                    <ul className="list">
                      {user.groupIds.map(g => (
                        <li key={g}><SubjectLink org={org} of={'group:' + g} /><Button small kind="bare" label={t.person.removeFrom(g)} reason={may} onPress={() => setChange({ groupId: g, join: false })}>{t.person.remove}…</Button></li>
                      ))}
                    </ul>
                  ) : <p className="dim">{t.person.empty}</p>}
                  <Join org={org} reason={may} known={user.groupIds} onJoin={groupId => setChange({ groupId, join: true })} />
                  <div className="row"><Button small reason={may} onPress={() => setAll(true)}>{p.replace}</Button></div>
                </section>
              )}
              {lists.map(([title, hint, list]) => (
                <section className="card" key={title}>
                  <header><h2>{title}</h2><span className="small dim">{list.length}</span></header>
                  {list.length ? <ul className="list">{list.map(s => <li key={s}><SubjectLink org={org} of={s} /></li>)}</ul> : <p className="dim">{t.person.empty}</p>}
                  <p className="small dim">{hint}</p>
                </section>
              ))}
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

function Join({ org, known, reason, onJoin }: { org: string; known: string[]; reason: string | null; onJoin: (groupId: string) => void }) {
  const [group, setGroup] = useState('')
  const q = useDebounced(group.trim())
  const found = useAsk('GET /orgs/{org}/org/groups', { path: { org }, query: { q, limit: 8 } }, { on: q !== '', keep: true })
  const choices = (found.data?.groups ?? []).filter(g => !known.includes(g.id)).map(g => ({ id: g.id, note: g.name }))
  return (
    <form className="row bottom" onSubmit={e => (e.preventDefault(), group.trim() && (onJoin(group.trim()), setGroup('')))}>
      <div className="grow"><Choose label={t.person.addTo} value={group} onChange={setGroup} choices={choices} /></div>
      <Button type="submit" reason={reason}>{t.person.add}…</Button>
    </form>
  )
}

import { useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useAsk, useMe } from '../../api/queries.ts'
import { t } from '../../text/en.ts'
import { rs } from '../../text/resources.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Id } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'

const key = 'authz_internal.access.manage_grants'

interface Props {
  org: string
  app: string
  scope: string
  /** How many scopes lie directly below. */
  below: number
  more: boolean
}

/** The end of a resource: all rows at exactly its scope. */
export function Removal({ org, app, scope, below, more }: Props) {
  const me = useMe()
  const [open, setOpen] = useState(false)
  const may = holds(me.data, key) === 'yes'
  return (
    <section className="card stack close">
      <p className="dim">{rs.removeHint}</p>
      <div className="row"><Button kind="danger" reason={may ? null : t.needs(key)} onPress={() => setOpen(true)}>{rs.remove}</Button></div>
      {open && <Removing org={org} app={app} scope={scope} below={below} more={more} onEnd={() => setOpen(false)} />}
    </section>
  )
}

const most = 400 // of each kind, whose end is planned

function Removing({ org, app, scope, below, more, onEnd }: Props & { onEnd: () => void }) {
  const grants = useAsk('GET /orgs/{org}/applications/{app}/grants', { path: { org, app }, query: { scope, limit: most } })
  const revokes = useAsk('GET /orgs/{org}/applications/{app}/revokes', { path: { org, app }, query: { scope, limit: most } })
  const rows = grants.data && revokes.data ? [...grants.data.grants, ...revokes.data.revokes].map(r => ({ id: r.id })) : null
  const effects = useEffects(rows?.length ? { without: rows } : null, app)
  const failed = grants.error ?? revokes.error
  const partial = !!grants.data?.nextCursor || !!revokes.data?.nextCursor
  async function remove() {
    const gone = await call('DELETE /orgs/{org}/org/scopes/{scope}', { path: { org, scope } })
    say(rs.removed(gone.deletedGrants, gone.deletedRevokes))
    onEnd()
    await readAnew()
  }
  return (
    <Sure title={rs.removeTitle(scope)} danger submit={rs.removeNow} typed={scope} reason={!rows ? t.state.waiting : rows.length === 0 ? null : untilTold(effects)} onSure={remove} onEnd={onEnd}>
      {failed ? <Failed of={failed} /> : !rows || !grants.data || !revokes.data ? <Waiting lines={3} /> : (
        <>
          <Plan steps={[{ sign: '−', text: <>{rs.ends(grants.data.grants.length, revokes.data.revokes.length, partial)} <Id of={scope} /></> }, { sign: '−', text: rs.requests }]} />
          <p className="dim">{w.keptBy(app)} {rs.stays(below, more)} {rs.record}</p>
          {rows.length > 0 ? <Impact of={effects.data && partial ? { ...effects, data: { ...effects.data, more: true } } : effects} /> : <p><strong>{w.none}</strong></p>}
        </>
      )}
    </Sure>
  )
}

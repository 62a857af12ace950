import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { queries, useAsk, useMe } from '../../api/queries.ts'
import type { Seat as SeatOf } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { seats as t } from '../../text/seats.ts'
import { Button } from '../../ui/Button.tsx'
import { Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { refusal } from '../../ui/Refusal.tsx'
import { Loaded } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Change } from './Change.tsx'
import { State } from './State.tsx'

const updates = 'cloud.seats.update_seat'
const removes = 'cloud.seats.delete'
const keys = 'cloud.applications.manage_credentials'

/** One seat: what it is, its change, the end of its sessions, and its own. */
export function Seat() {
  const { org, id } = useParams({ from: '/signed-in/orgs/$org/seats/$id' })
  const me = useMe()
  const one = useAsk('GET /orgs/{org}/seats/{userId}', { path: { org, userId: id } })
  const s = one.data?.seat
  const [doing, setDoing] = useState<'sessions' | 'remove' | null>(null)
  const owner = s?.kind === 'owner'
  const owners = useAsk('GET /orgs/{org}/seats', { path: { org }, query: { kind: 'owner', state: 'active', limit: 2 } }, { on: owner })
  const last = owner && owners.data?.seats.length === 1 && owners.data.seats[0]!.userId === id
  const byOwner = me.data?.seat?.kind === 'owner'
  const own = me.data?.caller.userId === id
  const gone = s?.state === 'removed'
  const bar = (key: string) => (holds(me.data, key) !== 'yes' ? all.needs(key) : owner && !byOwner ? t.ownersOnly : null)
  const over = () => (setDoing(null), void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' }))
  return (
    <Page
      title={id} lead={s && <span className="row"><State of={s.state} /> {all.seatKinds[s.kind] ?? s.kind}{own && <span className="dim">· {t.own}</span>}</span>}
      actions={s && !gone && (
        <>
          <Button reason={bar(updates)} onPress={() => setDoing('sessions')}>{t.endSessions}</Button>
          <Button kind="danger" reason={bar(removes) ?? (last ? t.lastOwner : null)} onPress={() => setDoing('remove')}>{t.remove}</Button>
        </>
      )}
    >
      <Loaded of={one}>
        {({ seat }) => (
          <div className="stack">
            {gone && <div className="note mind"><p>{t.gone}</p></div>}
            {doing === 'sessions' && <EndSessions org={org} id={id} onEnd={over} />}
            {doing === 'remove' && <Remove org={org} seat={seat} onEnd={over} onBack={() => setDoing(null)} />}
            <div className="columns">
              <section className="card stack close">
                <dl className="facts">
                  <dt>{t.user}</dt><dd><Name of={seat.userId} /></dd>
                  {seat.displayName && <><dt>{t.name}</dt><dd><Name of={seat.displayName} /></dd></>}
                  {seat.email && <><dt>{t.email}</dt><dd><Name of={seat.email} /></dd></>}
                  <dt>{t.kind}</dt><dd>{t.kinds[seat.kind] ?? seat.kind}<p className="small dim">{t.kindHints[seat.kind]}</p></dd>
                  <dt>{t.invited}</dt><dd><Time at={seat.invitedAt} /> {t.by} <Name of={seat.invitedBy} /></dd>
                  <dt>{t.activated}</dt><dd>{seat.activatedAt ? <Time at={seat.activatedAt} /> : t.never}</dd>
                  <dt>{t.seen}</dt><dd>{seat.lastSeenAt ? <Time at={seat.lastSeenAt} /> : t.never}</dd>
                  {seat.removedAt && <><dt>{t.removedAt}</dt><dd><Time at={seat.removedAt} /></dd></>}
                </dl>
                <div className="row">
                  <Link className="button small" to="/orgs/$org/people/$id" params={{ org, id }}>{t.access}</Link>
                  <Link className="button small" to="/orgs/$org/audit" params={{ org }} search={{ log: '_account', target: id }}>{all.places.audit}</Link>
                </div>
              </section>
              {!gone && <Change org={org} seat={seat} bar={own ? null : bar(updates)} barRest={bar(updates)} barKind={bar(updates) ?? (last ? t.lastOwner : null)} onOwner={byOwner} />}
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function EndSessions({ org, id, onEnd }: { org: string; id: string; onEnd: () => void }) {
  async function end() {
    await call('DELETE /orgs/{org}/seats/{userId}/sessions', { path: { org, userId: id } })
    say(t.ended)
    onEnd()
  }
  return (
    <Sure title={t.endTitle} submit={t.endNow} danger onSure={end} onEnd={onEnd} about={refusal}>
      <Plan steps={[{ sign: '−', text: <><Name of={id} /> {t.endStep}</> }]} />
      <p className="dim">{t.endHint}</p>
    </Sure>
  )
}

function Remove({ org, seat, onEnd, onBack }: { org: string; seat: SeatOf; onEnd: () => void; onBack: () => void }) {
  const navigate = useNavigate()
  const me = useMe()
  const list = useAsk('GET /orgs/{org}/api-keys', { path: { org }, query: { kind: 'admin', revoked: false, limit: 1000 } }, { on: holds(me.data, keys) === 'yes' })
  const live = list.data ? list.data.apiKeys.filter(k => k.userId === seat.userId).length : null
  async function remove() {
    await call('DELETE /orgs/{org}/seats/{userId}', { path: { org, userId: seat.userId } }, { ifMatch: seat.etag })
    say(t.removed)
    onEnd()
    await navigate({ to: '/orgs/$org/seats', params: { org } })
  }
  return (
    <Sure title={t.removeTitle} typed={seat.userId} submit={t.removeNow} danger onSure={remove} onEnd={onBack} about={refusal}>
      <Plan steps={[{ sign: '−', text: <><Name of={seat.userId} /> {t.removeStep}</> }, ...(live === 0 ? [] : [{ sign: '−' as const, text: t.removeKeys(live) }])]} />
      <p className="dim">{live === 0 && t.noKeys} {t.removeRows}</p>
    </Sure>
  )
}

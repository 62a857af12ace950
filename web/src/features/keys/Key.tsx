import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useOnce } from '../../api/once.ts'
import { queries, useAsk, useMe } from '../../api/queries.ts'
import type { APIKey } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { keys as t } from '../../text/keys.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { refusal } from '../../ui/Refusal.tsx'
import { Secret } from '../../ui/Secret.tsx'
import { Loaded } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { ActsAs, manages, State, stateOf } from './state.tsx'

/** One key: what is known of it, another secret, and its end. */
export function Key() {
  const { org, id } = useParams({ from: '/signed-in/orgs/$org/keys/$id' })
  const me = useMe()
  const one = useAsk('GET /orgs/{org}/api-keys/{id}', { path: { org, id } })
  const once = useOnce() // outlives the review: opened again after no answer, it is the same write
  const k = one.data?.apiKey
  const [doing, setDoing] = useState<'rotate' | 'revoke' | null>(null)
  const [secret, setSecret] = useState<{ of: string | null } | null>(null)
  const may = holds(me.data, manages) === 'yes' ? null : all.needs(manages)
  const others = k?.kind === 'admin' && k.userId !== me.data?.caller.userId ? t.onlyOwn : null
  const ended = k && stateOf(k) !== 'live' ? t.ended : null
  const refresh = () => void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
  return (
    <Page
      title={k?.name ?? id} lead={k && <span className="row"><State of={k} /> {t.kinds[k.kind] ?? k.kind}</span>}
      actions={k && !k.revokedAt && (
        <>
          <Button reason={may ?? others ?? ended} onPress={() => (setSecret(null), setDoing('rotate'))}>{t.rotate}</Button>
          <Button kind="danger" reason={may} onPress={() => setDoing('revoke')}>{t.revoke}</Button>
        </>
      )}
    >
      <Loaded of={one}>
        {({ apiKey }) => (
          <div className="stack">
            {secret && <Secret title={t.rotatedTitle} of={secret.of} />}
            {doing === 'rotate' && <Rotate org={org} of={apiKey} once={once} onBack={() => setDoing(null)} onDone={of => (setDoing(null), setSecret({ of }), refresh())} />}
            {doing === 'revoke' && <Revoke org={org} of={apiKey} onBack={() => setDoing(null)} onDone={() => (setDoing(null), setSecret(null), refresh())} />}
            <section className="card">
              <dl className="facts">
                <dt>{t.of}</dt><dd>{apiKey.serviceId ? <Link to="/orgs/$org/services/$id" params={{ org, id: apiKey.serviceId }}><ActsAs of={apiKey} /></Link> : apiKey.userId ? <Link to="/orgs/$org/seats/$id" params={{ org, id: apiKey.userId }}><ActsAs of={apiKey} /></Link> : <ActsAs of={apiKey} />}</dd>
                <dt>{t.hint}</dt><dd><Id of={apiKey.hint} /></dd>
                <dt>{t.expires}</dt><dd>{apiKey.expiresAt ? <Time at={apiKey.expiresAt} /> : t.never}</dd>
                <dt>{t.used}</dt><dd>{apiKey.lastUsedAt ? <Time at={apiKey.lastUsedAt} /> : t.notUsed}</dd>
                <dt>{t.made}</dt><dd><Time at={apiKey.createdAt} /> {t.by} <Name of={apiKey.createdBy} /></dd>
                {apiKey.rotatedAt && <><dt>{t.rotatedAt}</dt><dd><Time at={apiKey.rotatedAt} /></dd></>}
                {apiKey.previousValidUntil && apiKey.previousValidUntil > Date.now() && !apiKey.revokedAt && <><dt>{t.oldUntil}</dt><dd><Time at={apiKey.previousValidUntil} /></dd></>}
                {apiKey.revokedAt && <><dt>{t.revokedAt}</dt><dd><Time at={apiKey.revokedAt} /></dd></>}
                <dt>{t.id}</dt><dd><Id of={apiKey.id} /></dd>
              </dl>
            </section>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

const overlaps = [86_400_000, 604_800_000, 3_600_000, 0]

function Rotate({ org, of, once, onBack, onDone }: { org: string; of: APIKey; once: ReturnType<typeof useOnce>; onBack: () => void; onDone: (secret: string | null) => void }) {
  const [overlapMs, setOverlap] = useState(overlaps[0]!)
  async function rotate() {
    const path = { org, id: of.id }
    const { secret } = await once({ path, overlapMs }, key => call('POST /orgs/{org}/api-keys/{id}/rotate', { path, body: { overlapMs } }, { key }))
    onDone(secret)
  }
  return (
    <Sure title={t.rotateTitle} submit={t.rotateNow} danger={overlapMs === 0} onSure={rotate} onEnd={onBack} about={refusal}>
      <Plan steps={[{ sign: '→', text: <><Name of={of.name} />: {t.rotateStep}; {t.oldStep[overlapMs]}</> }]} />
      <Field label={t.overlap} hint={t.rotateHint}>{a => <select {...a} value={overlapMs} onChange={e => setOverlap(Number(e.target.value))}>{overlaps.map(ms => <option key={ms} value={ms}>{t.overlaps[ms]}</option>)}</select>}</Field>
    </Sure>
  )
}

function Revoke({ org, of, onBack, onDone }: { org: string; of: APIKey; onBack: () => void; onDone: () => void }) {
  async function revoke() {
    await call('DELETE /orgs/{org}/api-keys/{id}', { path: { org, id: of.id } }, { ifMatch: of.etag })
    say(t.gone)
    onDone()
  }
  return (
    <Sure title={t.revokeTitle} typed={of.id} submit={t.revokeNow} danger onSure={revoke} onEnd={onBack} about={refusal}>
      <Plan steps={[{ sign: '−', text: <><Name of={of.name} /> {t.revokeStep}</> }]} />
      <p className="dim">{t.revokeHint}</p>
    </Sure>
  )
}

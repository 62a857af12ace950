import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, newKey } from '../../api/call.ts'
import { queries, useMe } from '../../api/queries.ts'
import { holds } from '../../api/gates.ts'
import type { Application, Linked } from '../../api/schema.gen.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useSpot } from './Application.tsx'
import { Delete, OptIn, Unlink } from './Changes.tsx'
import { LinkIt, Told } from './LinkIt.tsx'
import { Members } from './Members.tsx'
import { Retention } from './Retention.tsx'
import { Trouble } from './Review.tsx'
import { causeOf, HealthTag, StateTag } from './State.tsx'

const words = apps.overview

/** What was read of applications is old. */
export const reread = () => queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })

export function Overview({ org, of: a }: { org: string; of: Application }) {
  const { search: { act }, set } = useSpot()
  const [linked, setLinked] = useState<Linked | null>(null) // its secret is here alone, and goes with it
  const close = () => set({ act: undefined })
  return (
    <>
      {linked && <Told of={linked} onKept={() => setLinked(null)} />}
      {act === 'link' && <LinkIt org={org} of={a} onBack={close} onLinked={made => (setLinked(made), close())} />}
      {act === 'unlink' && <Unlink org={org} of={a} onBack={close} />}
      {act === 'delete' && <Delete org={org} of={a} onBack={close} />}
      {act === 'optin' && <OptIn org={org} of={a} onBack={close} />}
      <div className="columns">
        <HealthCard org={org} of={a} />
        <Entry org={org} of={a} />
        <Retention org={org} of={a} />
        {a.state === 'federated' && <Members org={org} of={a} />}
      </div>
    </>
  )
}

/** How it was found, why, and what to do. */
function HealthCard({ org, of: a }: { org: string; of: Application }) {
  const me = useMe()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const key = 'cloud.applications.link_application'
  const may = holds(me.data, key, 'cloud.app:' + a.id) === 'yes'
  const linked = a.state !== 'registered'
  const h = linked ? a.health : null
  const cause = causeOf(h)
  async function probe() {
    setBusy(true)
    setError(null)
    try {
      const { health } = await call('POST /orgs/{org}/applications/{app}/probe', { path: { org, app: a.id } }, { key: newKey() })
      say(words.probed(apps.healths[health.status] ?? health.status))
      await reread()
    } catch (failed) {
      setError(failed)
    }
    setBusy(false)
  }
  const next = linked ? apps.next[cause] : apps.linkFirstNext
  return (
    <section className="card stack" aria-label={words.health}>
      <header><h2>{words.health}</h2><HealthTag of={a} /></header>
      <p>{linked ? (apps.cause[cause] ?? <Name of={cause} />) : apps.linkFirst}</p>
      {next && <p><strong>{next}</strong></p>}
      {h && h.status !== 'unverified' && (
        <dl className="facts">
          {h.checkedAt !== null && <><dt>{words.checked}</dt><dd><Time at={h.checkedAt} /></dd></>}
          {h.latencyMs !== null && <><dt>{words.latency}</dt><dd>{words.ms(h.latencyMs)}</dd></>}
          {h.application !== null && <><dt>{words.calls}</dt><dd><Id of={h.application} /></dd></>}
          {h.api !== null && <><dt>{words.version}</dt><dd>{h.api}</dd></>}
          {h.orgRoot !== null && <><dt>{words.root}</dt><dd>{h.orgRoot ? t.yes : t.no}</dd></>}
          {h.hasEpoch !== null && <><dt>{words.log}</dt><dd>{h.hasEpoch ? t.yes : words.noLog}</dd></>}
          {h.auditOptIn !== null && <><dt>{words.stream}</dt><dd>{h.auditOptIn ? t.yes : t.no}</dd></>}
        </dl>
      )}
      {error !== null && <Trouble of={error} />}
      <div className="row"><Button busy={busy} reason={!linked ? words.notLinked : may ? null : t.needs(key)} onPress={() => void probe()}>{words.probe}</Button></div>
    </section>
  )
}

/** What is registered of it, and how that is changed. */
function Entry({ org, of: a }: { org: string; of: Application }) {
  const me = useMe()
  const { set } = useSpot()
  const linked = a.state !== 'registered'
  const stays = a.operation ? words.busy : a.state === 'federated' ? words.member : null
  const lacks = (key: string) => (holds(me.data, key, 'cloud.app:' + a.id) === 'yes' ? null : t.needs(key))
  const lacksLink = lacks('cloud.applications.link_application')
  return (
    <section className="card stack" aria-label={words.entry}>
      <header><h2>{words.entry}</h2></header>
      {a.operation && (
        <div className="note mind" role="status">
          <div className="grow stack close">
            <p><strong>{words.moving}</strong> {words.movingHint}</p>
            <dl className="facts">
              <dt>{words.kind}</dt><dd>{words.kinds[a.operation.kind] ?? a.operation.kind}</dd>
              <dt>{words.step}</dt><dd><Id of={a.operation.step} /></dd>
              <dt>{words.started}</dt><dd><Time at={a.operation.startedAt} /></dd>
              {a.operation.trouble && <><dt>{words.trouble}</dt><dd><Id of={a.operation.trouble} /></dd></>}
            </dl>
          </div>
        </div>
      )}
      <dl className="facts">
        <dt>{words.state}</dt><dd><StateTag of={a.state} /></dd>
        {a.relayUrl && <><dt>{words.address}</dt><dd><Id of={a.relayUrl} />{a.relayUrl.startsWith('local:') && <span className="dim"> {words.local}</span>}</dd></>}
        {a.secretHint && <><dt>{words.hint}</dt><dd><Id of={a.secretHint} /></dd></>}
        <dt>{words.namespaces}</dt>
        <dd>
          <ul className="stack tight">
            {a.namespaces.map((n, i) => {
              const head = a.registry.find(r => r.namespace === n)
              return <li key={n}><Id of={n} />{i === 0 && a.namespaces.length > 1 && <span className="dim small"> {words.primary}</span>} <span className="dim small">{head?.version ? words.version_(head.version) : words.unpublished}</span></li>
            })}
          </ul>
        </dd>
        {a.linkedAt !== null && <><dt>{words.linkedAt}</dt><dd><Time at={a.linkedAt} /></dd></>}
        {a.federatedAt !== null && <><dt>{words.federatedAt}</dt><dd><Time at={a.federatedAt} /></dd></>}
        {a.lastSyncAt !== null && <><dt>{words.lastSync}</dt><dd><Time at={a.lastSyncAt} /></dd></>}
        <dt>{words.registered}</dt><dd><Time at={a.createdAt} /> {words.by} <Link to="/orgs/$org/people/$id" params={{ org, id: a.createdBy }}><Name of={a.createdBy} /></Link></dd>
      </dl>
      <div className="row">
        <Button kind={linked ? undefined : 'main'} reason={lacksLink ?? stays} onPress={() => set({ act: 'link' }, false)}>{linked ? words.relink : words.link}</Button>
        {linked && <Button reason={lacksLink ?? stays} onPress={() => set({ act: 'unlink' }, false)}>{words.unlink}</Button>}
        <Button kind="danger" reason={lacks('cloud.applications.delete') ?? stays} onPress={() => set({ act: 'delete' }, false)}>{words.remove}</Button>
      </div>
    </section>
  )
}

import { useState } from 'react'
import { holds } from '../../api/gates.ts'
import { useAsk, useMe, useOrg } from '../../api/queries.ts'
import type { Dimension } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { usage as t } from '../../text/usage.ts'
import { Button } from '../../ui/Button.tsx'
import { number, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Loaded } from '../../ui/States.tsx'
import { Cap } from './Cap.tsx'

const manages = 'cloud.billing.manage_caps'

/** The meters of the org as the host answers them, and nothing beside. */
export function Usage() {
  const org = useOrg()
  const me = useMe()
  const usage = useAsk('GET /orgs/{org}/billing/usage', { path: { org } })
  const [changing, setChanging] = useState<Dimension | null>(null)
  const reason = holds(me.data, manages) === 'yes' ? null : all.needs(manages)
  return (
    <Page title={t.title} lead={t.lead}>
      <Loaded of={usage}>
        {u => (
          <div className="stack">
            <p className="dim">{t.period} <Time at={u.periodStart} date /> {t.to} <Time at={u.periodEnd - 1} date />, {t.asOf} <Time at={u.generatedAt} />.</p>
            <ul className="meters">
              {u.dimensions.map(d => (
                <li key={d.dimension} className="card stack close" aria-label={t.names[d.dimension] ?? d.dimension}>
                  <div className="row far"><h2>{t.names[d.dimension] ?? d.dimension}</h2><span className="small dim">{t.kinds[d.kind] ?? d.kind}</span></div>
                  <div className="row far">
                    <strong className="figure">{d.cap === null ? number.format(d.value) : t.of(d.value, d.cap)}</strong>
                    {d.cap === null ? <span className="dim">{t.noCap}</span> : <span className={d.state === 'under' ? 'tag yes' : 'tag mind'}>{t.states[d.state] ?? d.state}</span>}
                  </div>
                  {d.cap !== null && <Bar value={d.value} cap={d.cap} state={d.state} />}
                  <div className="row far">
                    <span className={d.degraded ? 'mind grow' : 'dim small grow'}>{d.degraded ? (t.held[d.degraded] ?? d.degraded) : d.cap !== null && t.effects[d.dimension] ? `${t.when} ${t.effects[d.dimension]}` : ''}</span>
                    <Button small label={t.changeOf(t.names[d.dimension] ?? d.dimension)} reason={reason} onPress={() => setChanging(d)}>{t.change}</Button>
                  </div>
                </li>
              ))}
            </ul>
          </div>
        )}
      </Loaded>
      {changing && <Cap org={org} of={changing} onEnd={() => setChanging(null)} />}
    </Page>
  )
}

/** How much of a cap is used. The figures beside it tell the same. */
function Bar({ value, cap, state }: { value: number; cap: number; state: string }) {
  const share = cap === 0 ? 100 : Math.min(100, (100 * value) / cap)
  return (
    <svg className={state === 'under' ? 'meter' : 'meter reached'} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect width="100" height="6" />
      <rect className="share" width={share} height="6" />
    </svg>
  )
}

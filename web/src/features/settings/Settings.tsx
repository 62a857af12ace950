import { useAsk, useMe, useOrg } from '../../api/queries.ts'
import { settings as t } from '../../text/settings.ts'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Loaded } from '../../ui/States.tsx'
import { Change } from './Change.tsx'

/** What the org is, and what its owners may change of it. */
export function Settings() {
  const org = useOrg()
  const me = useMe()
  const one = useAsk('GET /orgs/{org}', { path: { org } })
  return (
    <Page title={t.title} lead={t.lead}>
      <Loaded of={one}>
        {({ org: o }) => (
          <div className="columns">
            <section className="card">
              <dl className="facts">
                <dt>{t.name}</dt><dd><Name of={o.name} /></dd>
                <dt>{t.id}</dt><dd><Id of={o.id} /></dd>
                <dt>{t.mode}</dt><dd>{t.modes[o.mode] ?? o.mode}</dd>
                <dt>{t.primary}</dt><dd>{o.primaryApplication ? <Id of={o.primaryApplication} /> : t.none}</dd>
                {o.moving && <><dt>{t.moving}</dt><dd><Id of={o.moving} /></dd></>}
                <dt>{t.made}</dt><dd><Time at={o.createdAt} /></dd>
              </dl>
            </section>
            <Change of={o} mayChange={me.data?.seat?.kind === 'owner'} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

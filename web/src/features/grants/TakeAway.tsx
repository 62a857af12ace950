import { useEffects } from '../../api/planning.ts'
import type { Grant, HomedGrant } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { gr } from '../../text/grants.ts'
import { w } from '../../text/writes.ts'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { What } from './What.tsx'

interface Props {
  org: string
  grants: Array<Grant & Partial<HomedGrant>>
  /** The application whose rows they are, "" of those everywhere. */
  home: string
  onSure: () => Promise<void>
  onEnd: () => void
}

const most = 50

/** What would be lost with grants, as the host tells it, before they are taken away. */
export function TakeAway({ grants, home, onSure, onEnd }: Props) {
  const account = grants.every(g => g.home?.kind === 'account')
  const effects = useEffects(account ? null : { without: grants }, home)
  return (
    <Sure title={t.grants.removeTitle(grants.length)} danger submit={t.grants.removeNow} reason={account ? null : untilTold(effects)} onSure={onSure} onEnd={onEnd}>
      <div className="bounded" tabIndex={0} role="region" aria-label={w.title}><Plan steps={grants.slice(0, most).map(g => ({ sign: '−', text: <What of={g} from /> }))} /></div>
      {grants.length > most && <p className="small dim">{gr.first(most)}</p>}
      <p className="dim">{account ? t.give.account : home ? w.keptBy(home) : w.root}</p>
      {!account && <Impact of={effects} none={t.grants.losesNothing} />}
    </Sure>
  )
}

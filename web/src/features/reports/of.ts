import type { ReactNode } from 'react'

export interface Of {
  org: string
  /** The application whose rows they are, "" of the org root's. */
  home: string
  /** Sets filters beside the choice of the home. */
  frame: (filters: ReactNode) => ReactNode
}

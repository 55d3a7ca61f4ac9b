class GrowingTreeLayer: pass

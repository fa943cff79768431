// A fault that the check must report: a path that is no number. The branches with Network must be those that are compiled.
#if canImport(Network)
    import Network

    func fault(_ monitor: NWPathMonitor) -> Int { monitor.currentPath }
#endif

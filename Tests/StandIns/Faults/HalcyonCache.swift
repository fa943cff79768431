// A fault that the check must report: a trigger that is no number. The default triggers must be those of Apple's platforms.
import System

func fault() -> Int { SystemMemoryTrigger.shared }

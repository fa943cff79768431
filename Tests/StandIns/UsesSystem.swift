// Lets HalcyonCache see the declarations of System.swift, and uses what is added on Apple's platforms.
import System

typealias DispatchSourceMemoryPressure = System.DispatchSourceMemoryPressure

func useTriggers() -> [any CacheTrigger] { [SystemMemoryTrigger.shared, NotificationTrigger.ofSystem] }
